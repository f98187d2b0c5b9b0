import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The timers that a bag holds, and when it removes them.
struct TimerBagTests {
    private let virtual = VirtualTime()
    private let bag = TimerBag()
    private let log = Log()

    /// A timer that lives while its handle is held.
    private func timer(_ schedule: PreciseTimer.Schedule = .every(.seconds(1))) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service) { [log] in log.note($1) }
    }

    @Test func aStoredTimerGoesOnWithoutItsHandle() throws {
        try timer().store(in: bag)
        virtual.advance(by: .seconds(3))
        #expect(log.count == 3)
        #expect(bag.count == 1)
    }

    @Test func storeReturnsTheTimer() throws {
        let timer = try timer()
        #expect(timer.store(in: bag) === timer)
        #expect(timer.store(in: bag, named: "same") === timer)
    }

    @Test func aNameTakenAgainCancelsItsFormerHolder() throws {
        let former = try timer().store(in: bag, named: "blink")
        let other = try timer().store(in: bag, named: "other")
        let next = try timer().store(in: bag, named: "blink")
        #expect(former.state == .ended(.cancelled))
        #expect(other.state == .scheduled)
        #expect(next.state == .scheduled)
        #expect(bag["blink"] === next)
        #expect(bag.count == 2)
    }

    @Test func aTimerStoredAgainUnderItsNameGoesOn() throws {
        let timer = try timer().store(in: bag, named: "blink")
        timer.store(in: bag, named: "blink")
        #expect(timer.state == .scheduled)
        #expect(bag["blink"] === timer)
    }

    @Test func aNameIsAnyHashableValue() throws {
        enum Part { case head, tail }
        let number = try timer().store(in: bag, named: 7)
        let part = try timer().store(in: bag, named: Part.head)
        let text: String? = "7"
        let optional = try timer().store(in: bag, named: text)
        #expect(bag[7] === number && bag[Part.head] === part && bag["7"] === optional)
        #expect(bag[8] == nil && bag[Part.tail] == nil)
        #expect(bag.cancel(Part.head) && part.state == .ended(.cancelled))
        let next = try timer().store(in: bag, named: 7)
        #expect(number.state == .ended(.cancelled) && bag[7] === next)
        #expect(bag.count == 2)
    }

    /// A name that reports its release.
    private final class Name: Hashable, Sendable {
        let number: Int
        let thing: Thing

        init(_ number: Int, _ thing: Thing) { (self.number, self.thing) = (number, thing) }

        static func == (left: Name, right: Name) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    /// A name's `deinit` may use the bag, so no name is released under its lock.
    @Test func namesAreReleasedOutsideTheLock() throws {
        let (box, releases) = (Box<TimerBag>(), Count())
        box.value = TimerBag()
        let name = { (number: Int) in Name(number, Thing { releases.add(1 + 0 * (box.value?.count ?? 0)) }) }
        for number in 0..<64 {
            let bag = try #require(box.value)
            try timer(.once(after: .seconds(1))).store(in: bag, named: name(number % 32))
            if number % 8 == 7 { virtual.advance(by: .seconds(1)) }
        }
        box.value?.cancel(name(3))
        box.value?.cancelAll()
        #expect(releases.value == 65)
        box.value = nil
    }

    @Test func cancellingByNameEndsThatTimerOnly() throws {
        let blink = try timer().store(in: bag, named: "blink")
        let other = try timer().store(in: bag, named: "other")
        let unnamed = try timer().store(in: bag)
        #expect(bag.cancel("blink"))
        #expect(blink.state == .ended(.cancelled))
        #expect(other.state == .scheduled)
        #expect(unnamed.state == .scheduled)
        #expect(bag.cancel("blink") == false, "the name is free")
        #expect(bag.cancel("nobody") == false)
        #expect(bag.count == 2)
    }

    @Test func theNameOfAnEndedTimerYieldsNil() throws {
        let timer = try timer(.once(after: .seconds(1))).store(in: bag, named: "hint")
        #expect(bag["hint"] === timer)
        virtual.advance(by: .seconds(1))
        #expect(bag["hint"] == nil)
        #expect(bag.count == 0)
        #expect(bag.cancel("hint") == false, "it had ended by itself")
        #expect(timer.state == .ended(.completed))
    }

    @Test func cancelAllEndsAllTimersAndTheBagGoesOn() throws {
        let timers = [try timer().store(in: bag), try timer().store(in: bag, named: "blink")]
        bag.cancelAll()
        #expect(timers.map(\.state) == [.ended(.cancelled), .ended(.cancelled)])
        #expect(bag.count == 0)
        #expect(bag["blink"] == nil)
        try timer().store(in: bag)
        #expect(bag.count == 1)
        #expect(virtual.pendingCount == 1)
    }

    @Test func waitingForOneHandlerKeepsNoOtherTimerOfTheBag() async throws {
        let (bag, log, isRunning, mayReturn) = (TimerBag(), Log(), Gate(), Gate())
        let first = try PreciseTimer.schedule(.once(after: .zero), target: log) { _, _ in
            isRunning.open()
            await mayReturn.pass()
        }
        let second = try PreciseTimer.schedule(.every(.seconds(3_600)), target: log) { $0.note($1) }
        await isRunning.pass()
        first.store(in: bag)
        second.store(in: bag)
        let waiting = Task { await bag.cancelAllAndWait() }
        #expect(await soon { second.state == .ended(.cancelled) })
        mayReturn.open()
        await waiting.value
    }

    @Test func aReleasedBagCancelsItsTimers() throws {
        var timers: [PreciseTimer] = []
        let (target, log) = (Log(), log)
        do {
            let bag = TimerBag()
            timers.append(try timer().store(in: bag))
            timers.append(try timer().store(in: bag, named: "blink"))
            // A timer that would outlive its handle.
            let kept = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: target) {
                log.note($1)
            }
            timers.append(kept.store(in: bag))
            virtual.advance(by: .seconds(1))
            withExtendedLifetime(bag) {}
        }
        #expect(timers.map(\.state) == Array(repeating: .ended(.cancelled), count: 3))
        virtual.advance(by: .seconds(1))
        #expect(log.count == 3)
        withExtendedLifetime(target) {}
    }

    @Test(arguments: [false, true]) func endedTimersAreRemovedWhileOthersStay(isNamed: Bool) throws {
        let kept = try timer(.every(.seconds(3_600))).store(in: bag, named: isNamed ? "kept" : nil)
        var held: [WeakTimer] = []
        for number in 0..<10_000 {
            let timer = try timer(.once(after: .milliseconds(1))).store(in: bag, named: isNamed ? "\(number)" : nil)
            held.append(WeakTimer(timer: timer))
            virtual.advance(by: .milliseconds(1))
        }
        #expect(log.count == 10_000)
        #expect(held.count { $0.timer != nil } <= 16)
        #expect(kept.state == .scheduled)
        #expect(bag.count == 1)
    }

    /// Each clean-up reads the state of all timers. It comes only when the bag has doubled, and ends no timer.
    @Test func aFullBagLetsEndedTimersGoOnlyWhenItHasDoubled() throws {
        var target: Thing? = Thing()
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: try #require(target)) { _, _ in }
            .store(in: bag)
        for _ in 0..<15 { try timer().store(in: bag) }
        target = nil
        for count in 17...31 {
            try timer().store(in: bag)
            #expect("\(bag)" == "bag of \(count) timers", "the timer without a target was not read")
        }
        try timer().store(in: bag)
        #expect("\(bag)" == "bag of 31 timers")
        #expect(virtual.pendingCount == 32)
    }

    @Test func threadsThatShareABagLoseNoTimerAndLeaveNoneBehind() throws {
        let (bag, service, failures) = (bag, virtual.service, Notes<String>())
        try onThreads(4) { thread in
            for round in 0..<500 {
                do {
                    try PreciseTimer.schedule(.every(.seconds(1)), on: service) { _, _ in }
                        .store(in: bag, named: "\(round % 8)")
                    let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: service) { _, _ in }.store(in: bag)
                    if round % 2 == thread % 2 { timer.cancel() }
                } catch { failures.append("\(error)") }
            }
        }
        #expect(failures.all == [])
        #expect(bag.count == 8 + 4 * 250, "one timer for each name, and the unnamed ones that were not cancelled")
        #expect(virtual.pendingCount == 8 + 4 * 250)
        bag.cancelAll()
        #expect(virtual.pendingCount == 0)
    }

    @Test func aHandlerMayReplaceItselfInItsBag() throws {
        let (bag, log, service, later) = (bag, log, virtual.service, Log())
        let first = try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { [weak bag] log, tick in
            log.note(tick)
            guard let bag, let next = try? timerForLater(later, on: service) else { return }
            next.store(in: bag, named: "step")
        }
        first.store(in: bag, named: "step")
        virtual.advance(by: .seconds(3))
        #expect(log.count == 1, "it was replaced in its first tick")
        #expect(first.state == .ended(.cancelled))
        #expect(later.count == 2)
        #expect(bag.count == 1)
    }

    @Test func aHandlerMayEmptyItsBag() throws {
        let (bag, log) = (bag, log)
        for name in ["one", "two", "three"] {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: bag) { bag, tick in
                log.note(tick)
                bag.cancelAll()
            }
            .store(in: bag, named: name)
        }
        virtual.advance(by: .seconds(1))
        #expect(log.count == 1, "its siblings were due at the same instant")
        #expect(virtual.pendingCount == 0)
    }

    @Test func aHandlerMayReleaseItsBag() throws {
        let (holder, log) = (Box<TimerBag>(), log)
        holder.value = TimerBag()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { _, tick in
            holder.value = nil
            log.note(tick)
        }
        timer.store(in: try #require(holder.value))
        virtual.advance(by: .seconds(2))
        #expect(log.count == 1)
        #expect(timer.state == .ended(.cancelled))
    }

    private struct WeakTimer {
        weak let timer: PreciseTimer?
    }
}

private func timerForLater(_ log: Log, on service: TimerService) throws -> PreciseTimer {
    try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: log) { $0.note($1) }
}
