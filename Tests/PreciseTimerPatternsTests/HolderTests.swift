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

    private func timeouts(_ keys: Int...) -> IdleTimeouts<Int> {
        let timeouts = IdleTimeouts<Int>(on: virtual.service, target: calls) { calls, _ in calls.add(1) }
        for key in keys { timeouts.refresh(key, after: .seconds(1)) }
        return timeouts
    }

    // MARK: Members

    @Test func aBagIsTheOnlyOwnerAndGivesNoTimerForTheNameOfAnother() throws {
        do {
            let holder = try lamp()
            #expect(holder.store(in: bag, named: "name") === holder)
        }
        try PreciseTimer.schedule(.every(.seconds(9)), on: virtual.service) { _, _ in }.store(in: bag, named: "timer")
        #expect(bag.count == 2 && bag["name"] == nil && bag["timer"] != nil)
        virtual.advance(by: .seconds(2))
        #expect(log.count == 3)
    }

    @Test func aNameTakenAgainCancelsTheTimersOfItsFormerHolder() throws {
        let holder = try lamp()
        for _ in 1...2 { holder.store(in: bag, named: "name") }
        #expect(holder.timers.allSatisfy { !$0.hasEnded }, "it is the same")
        let other = try debouncer().store(in: bag, named: "name")
        #expect(holder.timers.allSatisfy { $0.hasEnded } && !other.hasEnded)
        #expect([bag.count, virtual.pendingCount] == [1, 1])
        virtual.advance(by: .seconds(5))
        #expect(log.count == 0)
    }

    @Test func cancellingByNameIsTrueOnlyIfATimerEnded() throws {
        let (save, lamp, whole) = (try debouncer(), try lamp(), try lamp())
        timeouts().store(in: bag, named: "no timer")
        save.store(in: bag, named: "ended")
        for timer in save.timers + lamp.timers.prefix(1) { timer.cancel() }
        lamp.store(in: bag, named: "one of two")
        whole.store(in: bag, named: "both")
        #expect(["no timer", "ended", "one of two", "both"].map(bag.cancel) == [false, false, true, true])
        #expect((lamp.timers + whole.timers).allSatisfy { $0.hasEnded })
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

    enum HandlerPlace: CaseIterable { case pool, queue }
    enum Wait: CaseIterable { case cancelling, cancellingWithin, finishing }

    @Test(.waits("a handler takes time"), arguments: HandlerPlace.allCases, Wait.allCases)
    func aBagWaitsForTheRunningHandlerOfATimeout(place: HandlerPlace, wait: Wait) async throws {
        let (bag, isRunning, mayReturn, hasReturned) = (bag, Gate(), Gate(), Gate())
        let timeouts =
            switch place {
            case .pool:
                IdleTimeouts<Int>(on: virtual.service, target: target) { _, _ in
                    isRunning.open()
                    await mayReturn.pass()
                    hasReturned.open()
                }
            case .queue:
                IdleTimeouts<Int>(on: virtual.service, deliver: .queue(.global()), target: target) { _, _ in
                    isRunning.open()
                    mayReturn.pass()
                    hasReturned.open()
                }
            }
        timeouts.store(in: bag)
        timeouts.refresh(1, after: .seconds(1))
        if wait != .finishing { timeouts.refresh(2, after: .seconds(3_600)) }
        virtual.advanceWithoutSettling(by: .seconds(1))
        await isRunning.pass()
        #expect(!timeouts.contains(1) && timeouts.timers.count == (wait == .finishing ? 1 : 2))
        let waiting = Task.immediate {
            switch wait {
            case .cancelling: await bag.cancelAllAndWait()
            case .cancellingWithin: try await bag.cancelAllAndWait(within: .seconds(3_600))
            case .finishing: try await bag.finishAll()
            }
            return hasReturned.isPassable
        }
        #expect(await soon { timeouts.count == 0 }, "the other key is cancelled before the wait")
        let impatient = TimerBag()
        timeouts.store(in: impatient)
        let error = await #expect(throws: TimerError.self) {
            try await impatient.cancelAllAndWait(within: .milliseconds(20))
        }
        #expect(error?.code == .handlerRunning)
        mayReturn.open()
        #expect(try await waiting.value, "the handler has returned before the end")
        #expect(timeouts.timers.allSatisfy { $0.hasEnded } && virtual.pendingCount == 0)
        #expect(timeouts.timers.count == (wait == .finishing ? 0 : 1), "that of the key whose handler ran is let go")
    }
}
