import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Time-outs by key: which of them pass, when, and that nothing of them remains.
struct IdleTimeoutsTests {
    private let virtual = VirtualTime()
    private let expired = Notes<String>()

    private func timeouts(tolerance: Duration = .zero, keys: [String] = []) -> IdleTimeouts<String> {
        let timeouts = IdleTimeouts<String>(on: virtual.service, tolerance: tolerance, target: expired) {
            [virtual] expired, key in
            expired.append("\(key) at \(virtual.now.nanoseconds / 1_000_000_000 - 1)")
        }
        for key in keys { timeouts.refresh(key, after: .seconds(1)) }
        return timeouts
    }

    /// A key that reports its release.
    private struct Tracked: Hashable {
        let name: Int
        let thing: Thing

        static func == (left: Tracked, right: Tracked) -> Bool { left.name == right.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    /// Keys that come late, because the process stood still, wait once, as long as the first of them is late, and for a
    /// second at most. A key's `deinit` may use the object, so no key is released under its lock.
    @Test(arguments: 0..<Effort.of(40, thorough: 2_000))
    func keysPassAndAreKeptAsATableOfTheirDeadlinesSays(seed: Int) {
        let (box, expired, alive) = (Box<IdleTimeouts<Tracked>>(), Notes<String>(), Count())
        let timeouts = IdleTimeouts<Tracked>(on: virtual.service, target: expired) { [virtual] expired, key in
            expired.append("\(key.name) at \(virtual.now)")
        }
        box.value = timeouts
        let key = { (name: Int) in
            alive.add(1)
            return Tracked(name: name, thing: Thing { alive.add(-1 + 0 * (box.value?.count ?? 0)) })
        }
        var (random, deadlines, passed) = (SeededGenerator(seed: UInt64(seed)), [Int: TimerInstant](), [String]())
        var endOfWait: TimerInstant?
        func pass(_ names: [Int], at instant: TimerInstant) {
            passed += names.map { "\($0) at \(instant)" }
            for name in names { deadlines[name] = nil }
        }
        func endWait(before instant: TimerInstant, at time: (TimerInstant) -> TimerInstant) {
            guard let end = endOfWait, end <= instant else { return }
            pass(deadlines.filter { $0.value < end }.map(\.key), at: time(end))
            endOfWait = nil
        }
        for _ in 0..<60 {
            let (name, seconds) = (Int.random(in: 0..<4, using: &random), Int.random(in: -1...3, using: &random))
            switch Int.random(in: 0..<16, using: &random) {
            case 0:
                timeouts.cancelAll()
                (deadlines, endOfWait) = ([:], nil)
            case 1...3: #expect(timeouts.cancel(key(name)) == (deadlines.removeValue(forKey: name) != nil))
            case 4...8:
                let stoodStill = Bool.random(using: &random)
                if stoodStill {
                    virtual.jump(by: .milliseconds(50 * Int.random(in: 0...60, using: &random)))
                } else {
                    virtual.advance(by: .seconds(max(0, seconds)))
                }
                let now = virtual.now
                let comes = { (instant: TimerInstant) in stoodStill ? now : instant }
                for (name, deadline) in deadlines.sorted(by: { $0.value < $1.value }) where deadline <= now {
                    endWait(before: deadline, at: comes)
                    if endOfWait != nil { continue }
                    let delay = deadline.duration(to: comes(deadline))
                    if delay > .milliseconds(100) {
                        endOfWait = now.advanced(by: min(delay, .seconds(1)))
                    } else {
                        pass([name], at: comes(deadline))
                    }
                }
                endWait(before: now, at: comes)
            default:
                #expect(timeouts.refresh(key(name), after: .seconds(seconds)) == (seconds >= 0))
                if seconds >= 0 { deadlines[name] = virtual.now.advanced(by: .seconds(seconds)) }
            }
            // It is not said which of two timers of one instant comes first.
            for (name, deadline) in deadlines where deadline == endOfWait {
                timeouts.cancel(key(name))
                deadlines[name] = nil
            }
            #expect(expired.all.sorted() == passed.sorted())
            #expect((0..<4).filter { timeouts.contains(key($0)) } == deadlines.keys.sorted())
            // Nothing is kept of a key that has passed or was cancelled, but in a wait.
            let waits = endOfWait == nil ? 0 : 1
            let kept = [timeouts.count, timeouts.timers.count, virtual.pendingCount - waits]
            #expect(kept.allSatisfy { $0 == deadlines.count }, "\(kept) for \(deadlines.count) keys")
            #expect(waits == 1 || alive.value == deadlines.count)
        }
        virtual.service.shutdown()
        #expect(timeouts.count == 0 && !timeouts.contains(key(0)) && !timeouts.refresh(key(0), after: .seconds(1)))
        virtual.advance(by: .seconds(60))
        #expect(expired.all.count == passed.count)
        box.value = nil
    }

    // MARK: Refusals and ends

    @Test func aNegativeToleranceIsRefused() {
        #expect(!timeouts(tolerance: .seconds(-1)).refresh("one", after: .seconds(1)))
    }

    /// A service ends its timers one after another, and finalizes some in between.
    @Test func aRefreshDuringTheEndOfTheServiceIsRefused() throws {
        let (service, bag, answers) = (virtual.service, TimerBag(), Notes<Bool>())
        let timeouts = timeouts(keys: ["key"])
        let onEnd: @Sendable (PreciseTimer.EndReason) -> Void = { _ in
            answers.append(timeouts.refresh("key", after: .seconds(30)))
        }
        for _ in 0..<64 {
            try PreciseTimer.schedule(.every(.seconds(1)), on: service, onEnd: onEnd) { _, _ in }.store(in: bag)
        }
        service.shutdown()
        #expect(answers.all == Array(repeating: false, count: 64))
        bag.cancelAll()
    }

    @Test func keysWhoseTimersABagHasEndedAreNotKeptAndMayComeAgain() {
        let (timeouts, bag) = (timeouts(), TimerBag())
        for id in 0..<10_000 {
            timeouts.refresh("\(id)", after: .seconds(30))
            guard id % 1_000 == 999 else { continue }
            timeouts.store(in: bag)
            bag.cancelAll()
        }
        #expect([timeouts.count, virtual.pendingCount] == [0, 0])
        for id in 9_000..<11_000 { timeouts.refresh("\(id)", after: .seconds(30)) }
        #expect(timeouts.count == 2_000 && timeouts.timers.count <= 4_000, "at most as many again")
        virtual.advance(by: .seconds(30))
        #expect(Set(expired.all) == Set((9_000..<11_000).map { "\($0) at 30" }))
    }

    // MARK: Handlers

    @Test func theHandlerMayRefreshCancelAndReleaseTheObject() {
        let (box, expired) = (Box<IdleTimeouts<Int>>(), Notes<Int>())
        box.value = IdleTimeouts<Int>(on: virtual.service, target: box) { box, key in
            expired.append(key)
            if key < 4 { box.value?.refresh(key + 1, after: .seconds(1)) }
            if key == 2 { box.value?.refresh(key, after: .milliseconds(1_500)) }
            if key == 3 { box.value?.cancel(2) }
            if key == 5 { box.value = nil }
        }
        for key in [1, 5, 6] { box.value?.refresh(key, after: .seconds(key)) }
        virtual.advance(by: .seconds(60))
        #expect(expired.all == [1, 2, 3, 4, 5] && virtual.pendingCount == 0)
    }

    /// The refresh comes after the tick was decided, and before the handler is called.
    @Test func aRefreshJustBeforeTheHandlerWinsAndTheNextOneToo() throws {
        let alarm = ManualAlarm()
        let timeouts = IdleTimeouts<String>(on: try TimerService(alarm: alarm), target: expired) { $0.append($1) }
        timeouts.refresh("one", after: .seconds(1))
        alarm.move(by: .seconds(1))
        alarm.happen(before: 2) { timeouts.refresh("one", after: .seconds(10)) }
        alarm.fire()
        #expect(expired.all.isEmpty && timeouts.contains("one"))
        #expect(timeouts.refresh("one", after: .seconds(5)))
        alarm.move(by: .seconds(5))
        alarm.fire()
        #expect(expired.all == ["one"])
    }

    // MARK: A process that stood still

    @Test(arguments: [false, true]) func aTimeoutThatEndsWhileItWaitsDoesNotPass(inABag: Bool) async throws {
        var timeouts: IdleTimeouts<String>? = timeouts(keys: ["key"])
        virtual.jump(by: .seconds(2))
        #expect(timeouts?.contains("key") == true)
        if inABag {
            let bag = TimerBag()
            timeouts?.store(in: bag)
            async let isOver: Void = bag.finishAll()
            while virtual.pendingCount > 1 { await virtual.advance(by: .zero) }
            try await isOver
        } else {
            timeouts = nil
        }
        #expect(virtual.pendingCount == (inABag ? 1 : 0), "only the wait goes on")
        await virtual.advance(by: .seconds(60))
        #expect(expired.all == [] && virtual.pendingCount == 0)
        withExtendedLifetime(timeouts) {}
    }

    /// The wait's own tick comes first, then the refresh, and the key's extra tick would come last.
    @Test func aKeyThatIsRefreshedWhenItsWaitEndsDoesNotPassWithTheLastTicks() async throws {
        let (timeouts, bag) = (timeouts(keys: ["key"]), TimerBag())
        timeouts.store(in: bag)
        virtual.jump(by: .seconds(2))
        let end = PreciseTimer.Schedule.once(at: virtual.now.advanced(by: .seconds(1)))
        let timer = try PreciseTimer.schedule(end, on: virtual.service) { timeouts.refresh("key", after: .seconds(60)) }
        await virtual.advance(by: .seconds(1))
        #expect(timer.hasEnded && timeouts.contains("key"))
        async let isOver: Void = bag.finishAll()
        while virtual.pendingCount > 0 { await virtual.advance(by: .zero) }
        try await isOver
        #expect(expired.all == [])
    }

    @Test func aTickThatIsLateOnPurposeIsNoStandstill() {
        let timeouts = timeouts(tolerance: .seconds(1))
        timeouts.refresh("key", after: .seconds(2))
        virtual.jump(by: .milliseconds(3_100))
        #expect(expired.all == ["key at 3"])
    }

    @Test func aHandlerThatGetsTheTickIsCalledAtOnceAndSeesHowLateItIs() {
        let latenesses = Notes<Duration>()
        let timeouts = IdleTimeouts<String>(on: virtual.service, target: latenesses) {
            [expired] latenesses, key, tick in
            expired.append(key)
            latenesses.append(tick.lateness)
        }
        timeouts.refresh("key", after: .seconds(2))
        virtual.jump(by: .seconds(3))
        #expect(expired.all == ["key"] && latenesses.all == [.seconds(1)])
        #expect([timeouts.count, virtual.pendingCount] == [0, 0])
    }

    // MARK: Threads

    @Test(.works("threads refresh, cancel and wait")) func keysThatThreadsShareLoseNoTimer() async throws {
        let service = try TimerService(.usual)
        let (passed, refused) = (Count(), Count())
        let timeouts = IdleTimeouts<Int>(on: service, target: passed) { passed, _ in passed.add(1) }
        try await onThreads(4) { thread in
            var random = SystemRandomNumberGenerator()
            for _ in 0..<Effort.of(5_000, thorough: 20_000) {
                let key = Int.random(in: 0..<8, using: &random)
                let time = Duration.microseconds(Int.random(in: 0..<60, using: &random))
                if Int.random(in: 0..<8, using: &random) == 0 {
                    timeouts.cancel(key)
                } else if !timeouts.refresh(key, after: time) {
                    refused.add(1)
                }
            }
        }
        #expect(refused.value == 0)
        for key in 0..<8 { timeouts.refresh(key, after: .milliseconds(1)) }
        #expect(await soon { timeouts.count == 0 && service.activeTimers.isEmpty })
        #expect(passed.value >= 8)
        service.shutdown()
    }

    /// Its tick may come before the call that set it has returned.
    @Test(.works("ticks race with the calls that set them"), arguments: [0, 5])
    func aTimeoutThatIsDueAtOncePassesOnce(microseconds: Int) async throws {
        let (service, passed, keys) = (try TimerService(.usual), Count(), Effort.of(1_500, thorough: 5_000))
        let timeouts = IdleTimeouts<Int>(on: service, target: passed) { passed, _ in passed.add(1) }
        try await onThreads(2) { thread in
            for key in 1...keys {
                timeouts.refresh(2 * key + thread, after: .microseconds(microseconds))
                if key % 64 == 0 { pause(.milliseconds(1)) }
            }
        }
        #expect(await soon { timeouts.count == 0 && service.pendingCount == 0 })
        // The last key is gone before its handler is called.
        await service.shutdownAndWait()
        #expect(passed.value == 2 * keys)
    }

    @Test(.works("threads meet at each key")) func threadsThatAddTheSameKeyMakeOneTimer() async throws {
        let (virtual, keys, arrived) = (virtual, 2_000, Count())
        let timeouts = IdleTimeouts<Int>(on: virtual.service, target: arrived) { _, _ in }
        try await onThreads(2) { _ in
            for key in 1...keys {
                arrived.add(1)
                while arrived.value < 2 * key {}
                timeouts.refresh(key, after: .seconds(1))
            }
        }
        #expect([virtual.pendingCount, timeouts.count] == [keys, keys])
    }

    /// A thread postpones its key at about the moment at which its time-out passes.
    @Test(.works("threads refresh keys that are due")) func aRefreshIsNotLostToATickOnItsWay() async throws {
        let service = try TimerService(.usual)
        let (passed, lost) = (Count(), Count())
        let timeouts = IdleTimeouts<Int>(on: service, target: passed) { passed, _ in passed.add(1) }
        try await onThreads(2) { thread in
            for round in 0..<10_000 {
                let due = service.now.advanced(by: .microseconds(60 + round % 40))
                timeouts.refresh(thread, after: service.now.duration(to: due))
                while service.now < due.advanced(by: .microseconds(round % 80 - 20)) {}
                timeouts.refresh(thread, after: .seconds(3_600))
                if !timeouts.cancel(thread) { lost.add(1) }
            }
        }
        #expect(lost.value == 0)
        #expect(passed.value > 0)
        service.shutdown()
    }
}
