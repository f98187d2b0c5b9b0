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
                .map { seconds in
                    try PreciseTimer.schedule(.every(.seconds(seconds)), on: service, target: log) { $0.note($1) }
                }
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
        let timeouts = IdleTimeouts<Int>(on: virtual.service) { [calls] _ in calls.add(1) }
        for key in keys { timeouts.refresh(key, after: .seconds(1)) }
        return timeouts
    }

    // MARK: Storing

    @Test func storeReturnsWhatItStores() throws {
        let (save, draw, timeouts, lamp) = (try debouncer(), try throttler(), timeouts(), try lamp())
        #expect(save.store(in: bag) === save && draw.store(in: bag, named: "draw") === draw)
        #expect(timeouts.store(in: bag, named: 7) === timeouts && lamp.store(in: bag) === lamp)
        #expect(bag.count == 4)
    }

    @Test func aPatternInABagNeedsNoOtherOwner() throws {
        try debouncer().store(in: bag, named: "save")()
        timeouts(1).store(in: bag)
        virtual.advance(by: .seconds(1))
        #expect(calls.value == 2)
    }

    @Test func aNameTakenAgainCancelsTheTimersOfItsFormerHolder() throws {
        let (save, timeouts) = (try debouncer(), timeouts(1, 2))
        save.store(in: bag, named: "name")()
        timeouts.store(in: bag, named: "name")
        #expect(save.hasEnded && timeouts.count == 2)
        let lamp = try lamp().store(in: bag, named: "name")
        #expect(timeouts.count == 0 && !lamp.hasEnded)
        let draw = try throttler().store(in: bag, named: "name")
        #expect(lamp.hasEnded && !draw.hasEnded)
        #expect(bag.count == 1 && virtual.pendingCount == 1)
        virtual.advance(by: .seconds(2))
        #expect(calls.value == 0 && log.count == 0)
    }

    @Test func aPatternStoredAgainUnderItsNameGoesOn() throws {
        let (save, timeouts) = (try debouncer(), timeouts(1))
        for _ in 1...2 {
            save.store(in: bag, named: "save")
            timeouts.store(in: bag, named: "timeouts")
        }
        #expect(!save.hasEnded && timeouts.count == 1 && bag.count == 2)
    }

    @Test func theNameOfWhatIsNoTimerYieldsNil() throws {
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { _, _ in }
        timer.store(in: bag, named: "timer")
        try debouncer().store(in: bag, named: "save")
        timeouts(1).store(in: bag, named: "timeouts")
        try lamp().store(in: bag, named: "lamp")
        #expect(bag["timer"] === timer)
        #expect(bag["save"] == nil && bag["timeouts"] == nil && bag["lamp"] == nil)
        #expect(bag.count == 4)
    }

    // MARK: Cancelling

    @Test(arguments: [true, false]) func cancellingByNameEndsADebouncerOrAThrottler(isDebounce: Bool) throws {
        let trigger: CallLimiter = isDebounce ? try debouncer() : try throttler()
        trigger.store(in: bag, named: "trigger")()
        #expect(bag.cancel("trigger"))
        #expect(trigger.hasEnded && trigger.timers.allSatisfy(\.hasEnded))
        trigger()
        #expect(!trigger.flush())
        virtual.advance(by: .seconds(5))
        #expect(calls.value == 0 && virtual.pendingCount == 0 && virtual.nextDeadline == nil)
    }

    @Test func cancellingByNameIsTrueOnlyIfATimerEnded() throws {
        let timeouts = timeouts(1, 2)
        timeouts.store(in: bag, named: "timeouts")
        #expect(bag.cancel("timeouts"))
        #expect(!bag.cancel("timeouts"), "the name is free")
        timeouts.store(in: bag, named: "timeouts")
        #expect(!bag.cancel("timeouts"), "it has no timer")
        let save = try debouncer().store(in: bag, named: "save")
        for timer in save.timers { timer.cancel() }
        #expect(!bag.cancel("save"), "its timer had ended")
        let lamp = try lamp().store(in: bag, named: "lamp")
        lamp.timers.first?.cancel()
        #expect(bag.cancel("lamp") && lamp.hasEnded)
    }

    @Test func timeoutsThatABagHasCancelledCanBeSetAgain() throws {
        let timeouts = timeouts(1, 2)
        timeouts.store(in: bag)
        bag.cancelAll()
        #expect(timeouts.count == 0 && !timeouts.contains(1) && virtual.pendingCount == 0)
        #expect(timeouts.refresh(1, after: .seconds(1)) && timeouts.count == 1)
        virtual.advance(by: .seconds(1))
        #expect(calls.value == 1)
    }

    /// The ticks are on their way to the main actor.
    @MainActor @Test func whatABagCancelsOnTheMainActorIsNotCalledThere() async throws {
        let (calls, service) = (calls, virtual.service)
        let save = try Debouncer(.seconds(1), on: service, target: target) { @MainActor _ in calls.add(1) }
        let timeouts = IdleTimeouts<Int>(on: service) { @MainActor _ in calls.add(1) }
        save.store(in: bag)()
        timeouts.store(in: bag).refresh(1, after: .seconds(1))
        virtual.advanceWithoutSettling(by: .seconds(1))
        bag.cancelAll()
        await virtual.settle()
        #expect(calls.value == 0 && virtual.pendingCount == 0)
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
        #expect(calls.value == 0 && log.count == 0 && virtual.pendingCount == 0)
    }

    @Test func aHolderOfTwoTimersIsEndedAsOne() throws {
        let lamp = try lamp().store(in: bag)
        virtual.advance(by: .seconds(2))
        #expect(log.count == 3 && bag.count == 1)
        bag.cancelAll()
        #expect(lamp.timers.map(\.state) == [.ended(.cancelled), .ended(.cancelled)])
        virtual.advance(by: .seconds(2))
        #expect(log.count == 3 && bag.count == 0)
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

    @Test func aBagLetsEndedMembersGo() throws {
        var held: [WeakDebouncer] = []
        let timeouts = timeouts()
        timeouts.store(in: bag)
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

    /// Finishes all members, while time stands still.
    private func finishAll() async throws {
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
    }

    @Test func finishAllLetsWaitingCallsThrough() async throws {
        let (save, draw) = (try debouncer().store(in: bag), try throttler().store(in: bag))
        draw()
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        #expect(calls.value == 1, "the leading edge")
        draw()
        save()
        try await finishAll()
        #expect(calls.value == 3 && save.hasEnded && draw.hasEnded)
        save()
        draw()
        await virtual.advance(by: .seconds(5))
        #expect(calls.value == 3)
    }

    @Test(.waits("last ticks come to the main actor")) func finishAllWaitsForALastCallOnTheMainActor() async throws {
        let (calls, target) = (calls, target)
        let save = try Debouncer(.seconds(1), on: virtual.service, target: target) { @MainActor _ in
            await Task.yield()
            calls.add(1)
        }
        save.store(in: bag)()
        try await finishAll()
        #expect(calls.value == 1)
    }

    @Test func finishAllCallsNoHandlerForWhichNoCallWaits() async throws {
        let (save, draw) = (try debouncer().store(in: bag), try throttler().store(in: bag))
        save()
        save.cancel()
        draw()
        virtual.advanceWithoutSettling(by: .milliseconds(1))
        try await finishAll()
        #expect(calls.value == 1, "the leading edge, before")
    }

    /// Neither the call at the leading edge nor the one behind it has come to the handler.
    @Test func finishAllCallsAHandlerOnceForBothEdges() async throws {
        let draw = try throttler().store(in: bag)
        draw()
        draw()
        try await finishAll()
        #expect(calls.value == 1)
    }

    @Test func finishAllCallsNoHandlerOfATimeout() async throws {
        let timeouts = timeouts(1, 2).store(in: bag)
        try await finishAll()
        #expect(calls.value == 0 && timeouts.count == 0)
        #expect(timeouts.refresh(1, after: .seconds(1)))
        await virtual.advance(by: .seconds(1))
        #expect(calls.value == 1)
    }

    @Test func finishAllGivesEachTimerOfAHolderALastTick() async throws {
        try lamp().store(in: bag)
        try await finishAll()
        #expect(log.ticks.map(\.isExtra) == [true, true])
    }

    // MARK: Waiting

    enum HandlerPlace: CaseIterable { case pool, mainActor, actor, queue }

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

    @Test(.waits("a handler takes time"), arguments: HandlerPlace.allCases, [true, false])
    func cancelAllAndWaitWaitsForTheRunningHandlerOfATimeout(place: HandlerPlace, hasLimit: Bool) async throws {
        let (bag, stay, waited) = (bag, Stay(), Notes<Bool>())
        let timeouts = timeouts(in: place, stay).store(in: bag)
        timeouts.refresh(1, after: .seconds(1))
        timeouts.refresh(2, after: .seconds(3_600))
        virtual.advanceWithoutSettling(by: .seconds(1))
        await stay.isRunning.pass()
        #expect(!timeouts.contains(1) && timeouts.timers.count == 2)
        let waiting = Task.immediate {
            if hasLimit {
                try await bag.cancelAllAndWait(within: .seconds(3_600))
            } else {
                await bag.cancelAllAndWait()
            }
            waited.append(stay.hasReturned.isPassable)
        }
        #expect(await soon { timeouts.count == 0 }, "the other key is cancelled before the wait")
        stay.mayReturn.open()
        try await waiting.value
        #expect(waited.all == [true])
        #expect(timeouts.timers.allSatisfy { $0.hasEnded } && virtual.pendingCount == 0)
    }

    @Test(.waits("a handler takes time")) func finishAllWaitsForTheRunningHandlerOfATimeout() async throws {
        let (bag, stay, waited) = (bag, Stay(), Notes<Bool>())
        let timeouts = timeouts(in: .pool, stay).store(in: bag)
        timeouts.refresh(1, after: .seconds(1))
        virtual.advanceWithoutSettling(by: .seconds(1))
        await stay.isRunning.pass()
        let waiting = Task.immediate {
            try await bag.finishAll()
            waited.append(stay.hasReturned.isPassable)
        }
        stay.mayReturn.open()
        try await waiting.value
        #expect(waited.all == [true])
    }

    @Test(.waits("a handler takes time")) func cancelAllAndWaitWaitsForTheHandlerOfADebouncer() async throws {
        let (bag, stay, waited) = (bag, Stay(), Notes<Bool>())
        let save = try Debouncer(.seconds(1), on: virtual.service, target: target) { _ in await stay.pass() }
        save.store(in: bag)()
        virtual.advanceWithoutSettling(by: .seconds(1))
        await stay.isRunning.pass()
        save()
        let waiting = Task.immediate {
            await bag.cancelAllAndWait()
            waited.append(stay.hasReturned.isPassable)
        }
        #expect(await soon { save.hasEnded })
        stay.mayReturn.open()
        await waiting.value
        #expect(waited.all == [true])
        await virtual.advance(by: .seconds(5))
        #expect(stay.passes.value == 1, "the call that waited was dropped")
    }

    private struct WeakDebouncer {
        weak let debouncer: Debouncer?
    }
}

/// A handler that says that it runs, and stays until it may return.
private final class Stay: Sendable {
    let isRunning = Gate()
    let mayReturn = Gate()
    let hasReturned = Gate()
    let passes = Count()
    let host = Host()

    func pass() {
        begin()
        mayReturn.pass()
        hasReturned.open()
    }

    func pass() async {
        begin()
        await mayReturn.pass()
        hasReturned.open()
    }

    private func begin() {
        passes.add(1)
        isRunning.open()
    }
}

private actor Host {}
