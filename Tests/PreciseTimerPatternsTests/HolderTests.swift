import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// A bag that holds patterns, and types of the user's own that have timers.
struct HolderTests {
    private let virtual = VirtualTime()
    private let bag = TimerBag()
    private let calls = Count()
    private let target = Thing()
    private let log = Log()

    /// A type of the user's own.
    private final class Lamp: TimerHolder {
        let timers: [PreciseTimer]
        var hasEnded: Bool { timers.allSatisfy(\.hasEnded) }

        init(on service: TimerService, _ log: Log) throws {
            timers = try [1, 2]
                .map { try PreciseTimer.schedule(.every(.seconds($0)), on: service, target: log) { $0.note($1) } }
        }
    }

    private func lamp() throws -> Lamp { try Lamp(on: virtual.service, log) }

    private func debouncer(_ target: Thing? = nil) throws -> Debouncer {
        try Debouncer(.seconds(1), on: virtual.service, target: target ?? self.target) { [calls] _ in calls.add(1) }
    }

    private func throttler() throws -> Throttler {
        try Throttler(.seconds(1), on: virtual.service, target: target) { [calls] _ in calls.add(1) }
    }

    private func timeouts(_ keys: Int...) -> IdleTimeouts<Int> {
        let timeouts = IdleTimeouts<Int>(on: virtual.service, target: calls) { calls, _ in calls.add(1) }
        for key in keys { timeouts.refresh(key, after: .seconds(1)) }
        return timeouts
    }

    // MARK: Storing

    @Test func storeReturnsWhatItStoresAndIsItsOnlyOwner() throws {
        try debouncer().store(in: bag)()
        timeouts(1).store(in: bag)
        virtual.advance(by: .seconds(1))
        #expect(calls.value == 2)
        let (save, draw, timeouts, lamp) = (try debouncer(), try throttler(), timeouts(), try lamp())
        #expect(save.store(in: bag) === save && draw.store(in: bag, named: "draw") === draw)
        #expect(timeouts.store(in: bag, named: 7) === timeouts && lamp.store(in: bag) === lamp)
        #expect(bag.count == 6)
    }

    @Test func aNameTakenAgainCancelsTheTimersOfItsFormerHolder() throws {
        let (save, timeouts) = (try debouncer(), timeouts(1, 2))
        save.store(in: bag, named: "name")()
        save.store(in: bag, named: "name")
        #expect(!save.hasEnded, "it is the same")
        for _ in 1...2 { timeouts.store(in: bag, named: "name") }
        #expect(save.hasEnded && timeouts.count == 2)
        let lamp = try lamp().store(in: bag, named: "name")
        #expect(timeouts.count == 0 && !lamp.hasEnded)
        let draw = try throttler().store(in: bag, named: "name")
        #expect(lamp.hasEnded && !draw.hasEnded)
        #expect([bag.count, virtual.pendingCount] == [1, 1])
        virtual.advance(by: .seconds(2))
        #expect([calls.value, log.count] == [0, 0])
    }

    @Test func theNameOfWhatIsNoTimerYieldsNil() throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { _, _ in }.store(in: bag, named: "timer")
        try debouncer().store(in: bag, named: "save")
        timeouts(1).store(in: bag, named: "timeouts")
        try lamp().store(in: bag, named: "lamp")
        #expect(["timer", "save", "timeouts", "lamp"].map { bag[$0] == nil } == [false, true, true, true])
        #expect(bag.count == 4)
    }

    // MARK: Cancelling

    @Test func cancellingByNameIsTrueOnlyIfATimerEnded() throws {
        let timeouts = timeouts(1, 2)
        timeouts.store(in: bag, named: "timeouts")
        #expect(bag.cancel("timeouts"))
        #expect(!bag.cancel("timeouts"), "the name is free")
        timeouts.store(in: bag, named: "timeouts")
        #expect(!bag.cancel("timeouts"), "it has no timer")
        let lamp = try lamp().store(in: bag, named: "lamp")
        lamp.timers.first?.cancel()
        #expect(bag.cancel("lamp") && lamp.hasEnded)
        let draw = try throttler().store(in: bag, named: "draw")
        draw()
        #expect(bag.cancel("draw") && draw.hasEnded && draw.timers.allSatisfy(\.hasEnded))
        draw()
        #expect(!draw.flush())
        let save = try debouncer().store(in: bag, named: "save")
        for timer in save.timers { timer.cancel() }
        #expect(!bag.cancel("save"), "its timer had ended")
        virtual.advance(by: .seconds(5))
        #expect(calls.value == 0 && virtual.pendingCount == 0 && virtual.nextDeadline == nil)
    }

    @Test func aReleasedBagCancelsTheTimersOfItsMembers() throws {
        let (save, timeouts, lamp) = (try debouncer(), timeouts(1), try lamp())
        do {
            let bag = TimerBag()
            save.store(in: bag)()
            timeouts.store(in: bag, named: "timeouts")
            lamp.store(in: bag)
            withExtendedLifetime(bag) {}
        }
        #expect(save.hasEnded && lamp.hasEnded && timeouts.count == 0)
        virtual.advance(by: .seconds(2))
        #expect([calls.value, log.count, virtual.pendingCount] == [0, 0, 0])
    }

    // MARK: Ended members

    @Test func theCountIsThatOfMembersThatHaveNotEnded() throws {
        let (save, lamp) = (try debouncer(), try lamp())
        save.store(in: bag)
        lamp.store(in: bag, named: "lamp")
        timeouts().store(in: bag)
        do {
            let target = Thing()
            try debouncer(target).store(in: bag)
            #expect(bag.count == 4)
            withExtendedLifetime(target) {}
        }
        #expect(bag.count == 3, "a target was released")
        lamp.timers.first?.cancel()
        #expect(bag.count == 3, "its other timer goes on")
        lamp.timers.last?.cancel()
        for timer in save.timers { timer.cancel() }
        #expect(bag.count == 1, "a key may come at any time")
    }

    private struct WeakDebouncer {
        weak let debouncer: Debouncer?
    }

    @Test func aBagLetsEndedMembersGo() throws {
        var held: [WeakDebouncer] = []
        let timeouts = timeouts().store(in: bag)
        for _ in 0..<100 {
            let target = Thing()
            held.append(WeakDebouncer(debouncer: try debouncer(target).store(in: bag)))
            withExtendedLifetime(target) {}
        }
        #expect(held.count { $0.debouncer != nil } <= 16)
        timeouts.refresh(1, after: .seconds(1))
        bag.cancelAll()
        #expect(timeouts.count == 0, "without a key, they stay in the bag")
    }

    // MARK: Last ticks

    /// Finishes all members, while time stands still. Returns how often handlers were called.
    private func finishAll() async throws -> Int {
        let (bag, virtual) = (bag, virtual)
        // It runs up to its wait at once.
        let finishing = Task.immediate { try await bag.finishAll() }
        let haveEnded = await soon {
            virtual.advance(by: .zero)
            return virtual.pendingCount == 0
        }
        #expect(haveEnded)
        try await finishing.value
        #expect(bag.count == 0)
        return calls.value
    }

    @Test func finishAllLetsEachWaitingCallThroughOnce() async throws {
        let (bag, service, target, noted) = (bag, virtual.service, target, Notes<String>())
        let throttler = { (name: String) in
            try Throttler(.seconds(1), on: service, target: target) { _ in noted.append(name) }.store(in: bag)
        }
        let save = try Debouncer(.seconds(1), on: service, target: target) { _ in noted.append("save") }.store(in: bag)
        let (led, waits) = (try throttler("led"), try throttler("waits"))
        let (hasBothEdges, isDropped) = (try throttler("both edges"), try throttler("dropped"))
        for call in [led, waits] { call() }
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        #expect(noted.all == ["led", "waits"], "the leading edge")
        // Neither of two calls has come to the handler that has both edges.
        for call in [save, waits, hasBothEdges, hasBothEdges, isDropped] { call() }
        isDropped.cancel()
        _ = try await finishAll()
        #expect(noted.all.sorted() == ["both edges", "led", "save", "waits", "waits"])
        for call in [save, led] {
            #expect(call.hasEnded)
            call()
        }
        await virtual.advance(by: .seconds(5))
        #expect(noted.all.count == 5)
    }

    @Test(.waits("last ticks come to the main actor")) func finishAllWaitsForALastCallOnTheMainActor() async throws {
        let save = try Debouncer(.seconds(1), on: virtual.service, target: target) { @MainActor [calls] _ in
            await Task.yield()
            calls.add(1)
        }
        save.store(in: bag)()
        #expect(try await finishAll() == 1)
    }

    @Test(arguments: [true, false]) func timeoutsOfABagEndWithoutACallAndCanBeSetAgain(lastTick: Bool) async throws {
        let timeouts = timeouts(1, 2).store(in: bag)
        if lastTick { #expect(try await finishAll() == 0) } else { bag.cancelAll() }
        #expect(timeouts.count == 0 && !timeouts.contains(1) && virtual.pendingCount == 0)
        #expect(timeouts.refresh(1, after: .seconds(1)) && timeouts.count == 1)
        await virtual.advance(by: .seconds(1))
        #expect(calls.value == 1)
    }

    @Test func finishAllGivesEachTimerOfAHolderALastTick() async throws {
        try lamp().store(in: bag)
        _ = try await finishAll()
        #expect(log.ticks.map(\.isExtra) == [true, true])
    }

    // MARK: Waiting

    enum HandlerPlace: CaseIterable { case pool, mainActor, actor, queue }
    enum Wait: CaseIterable { case cancelling, cancellingWithin, finishing }

    /// Time-outs whose handler runs in a place until a gate is opened.
    private func timeouts(in place: HandlerPlace, _ stay: Stay) -> IdleTimeouts<Int> {
        let service = virtual.service
        switch place {
        case .pool: return IdleTimeouts<Int>(on: service, target: target) { _, _ in await stay.pass() }
        case .mainActor:
            return IdleTimeouts<Int>(on: service, target: target) { @MainActor _, _ in await stay.pass() }
        case .actor: return IdleTimeouts<Int>(on: service, target: stay.host) { _, _ in await stay.pass() }
        case .queue:
            let queue = DispatchQueue(label: "test.holder")
            return IdleTimeouts<Int>(on: service, deliver: .queue(queue), target: target) { _, _ in stay.pass() }
        }
    }

    @Test(.waits("a handler takes time"), arguments: HandlerPlace.allCases, Wait.allCases)
    func aBagWaitsForTheRunningHandlerOfATimeout(place: HandlerPlace, wait: Wait) async throws {
        let (stay, bag) = (Stay(), bag)
        let timeouts = timeouts(in: place, stay).store(in: bag)
        timeouts.refresh(1, after: .seconds(1))
        if wait != .finishing { timeouts.refresh(2, after: .seconds(3_600)) }
        virtual.advanceWithoutSettling(by: .seconds(1))
        await stay.isRunning.pass()
        #expect(!timeouts.contains(1) && timeouts.timers.count == (wait == .finishing ? 1 : 2))
        let waiting = Task.immediate {
            switch wait {
            case .cancelling: await bag.cancelAllAndWait()
            case .cancellingWithin: try await bag.cancelAllAndWait(within: .seconds(3_600))
            case .finishing: try await bag.finishAll()
            }
            return stay.hasReturned.isPassable
        }
        #expect(await soon { timeouts.count == 0 }, "the other key is cancelled before the wait")
        stay.mayReturn.open()
        #expect(try await waiting.value, "the handler has returned before the end")
        #expect(timeouts.timers.allSatisfy { $0.hasEnded } && virtual.pendingCount == 0)
    }
}

/// A handler that says that it runs, and stays until it may return.
private final class Stay: Sendable {
    let isRunning = Gate()
    let mayReturn = Gate()
    let hasReturned = Gate()
    let host = Host()

    func pass() {
        isRunning.open()
        mayReturn.pass()
        hasReturned.open()
    }

    func pass() async {
        isRunning.open()
        await mayReturn.pass()
        hasReturned.open()
    }
}

private actor Host {}
