import Dispatch
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// When a debounced or throttled handler is called.
struct DebounceTests {
    private let virtual = VirtualTime()
    private let calls = Notes<Int>()
    private let target = Thing()

    private func debounce(_ milliseconds: Int, _ edge: BurstEdge) throws -> CallLimiter {
        let (calls, time) = (calls, time(since: virtual.now))
        return try Debouncer(.milliseconds(milliseconds), edge: edge, on: virtual.service, target: target) {
            _ in calls.append(time())
        }
    }

    private func throttle(_ milliseconds: Int, _ edge: BurstEdge) throws -> CallLimiter {
        let (calls, time) = (calls, time(since: virtual.now))
        return try Throttler(.milliseconds(milliseconds), edge: edge, on: virtual.service, target: target) {
            _ in calls.append(time())
        }
    }

    @MainActor @Test func aHandlerOnTheMainActorIsTyped() async throws {
        let model = Model()
        let search = try Debouncer(
            .milliseconds(300),
            on: virtual.service,
            deliver: .mainActor,
            target: model
        ) { model in model.searches += 1 }
        let draw = try Throttler(
            .milliseconds(16),
            on: virtual.service,
            deliver: .mainActor,
            target: model
        ) { model in model.frames += 1 }
        for _ in 0..<5 {
            search()
            draw()
        }
        await virtual.advance(by: .seconds(1))
        #expect(model.searches == 1 && model.frames == 2)
    }

    private func time(since start: TimerInstant) -> @Sendable () -> Int {
        { [virtual] in Int(start.duration(to: virtual.now) / .milliseconds(1)) }
    }

    /// Calls the trigger at instants, in milliseconds from now, and lets a second pass.
    private func call(_ trigger: CallLimiter, at instants: [Int]) {
        var now = 0
        for instant in instants {
            virtual.advance(by: .milliseconds(instant - now))
            now = instant
            trigger()
        }
        virtual.advance(by: .milliseconds(1_000 - now))
    }

    @Test(arguments: [
        (BurstEdge.trailing, [0], [100]), (.trailing, [0, 50, 99, 150], [250]),
        (.trailing, [0, 200], [100, 300]), (.trailing, [0, 100], [100, 200]),
        (.leading, [0], [0]), (.leading, [0, 50, 140, 239], [0]), (.leading, [0, 101], [0, 101]),
        (.both, [0], [0]), (.both, [0, 50, 140], [0, 240]), (.both, [0, 150], [0, 150]),
    ])
    func aBurstIsOneCall(edge: BurstEdge, instants: [Int], expected: [Int]) throws {
        call(try debounce(100, edge), at: instants)
        #expect(calls.all == expected)
    }

    @Test(arguments: [
        (BurstEdge.trailing, [0], [100]), (.trailing, [0, 50, 99, 150], [100, 250]),
        (.leading, [0, 50, 99, 150, 199, 260], [0, 150, 260]),
        (.both, [0], [0]), (.both, [0, 50, 99], [0, 100]), (.both, [0, 50, 150, 170, 320], [0, 100, 200, 320]),
    ])
    func aPeriodHasOneCall(edge: BurstEdge, instants: [Int], expected: [Int]) throws {
        call(try throttle(100, edge), at: instants)
        #expect(calls.all == expected)
    }

    @Test func triggersWithoutCallsRest() throws {
        let trigger = try debounce(100, .both)
        #expect(virtual.nextDeadline == nil)
        call(trigger, at: [0, 1])
        #expect(virtual.nextDeadline == nil, "it rests again")
        #expect(calls.all == [0, 101])
    }

    @Test func flushLetsTheWaitingCallThrough() throws {
        let trigger = try debounce(100, .trailing)
        #expect(!trigger.flush())
        trigger()
        virtual.advance(by: .milliseconds(30))
        #expect(trigger.flush())
        virtual.advance(by: .zero)
        #expect(!trigger.flush())
        virtual.advance(by: .seconds(1))
        #expect(calls.all == [30])
    }

    /// Neither the first call nor the second one has come to the handler.
    @Test(arguments: [true, false])
    func flushLetsBothEdgesThrough(isDebounce: Bool) throws {
        let trigger = isDebounce ? try debounce(100, .both) : try throttle(100, .both)
        trigger()
        #expect(!trigger.flush(), "the first call does not wait")
        trigger()
        #expect(trigger.flush())
        virtual.advance(by: .milliseconds(1))
        #expect(calls.all == [0, 0])
        trigger()
        virtual.advance(by: .seconds(1))
        #expect(calls.all == (isDebounce ? [0, 0, 1] : [0, 0, 100]))
    }

    @Test func aDroppedCallIsNotFlushed() throws {
        for edge in [BurstEdge.leading, .trailing, .both] {
            let trigger = try debounce(100, edge)
            trigger()
            trigger()
            trigger.cancel()
            #expect(!trigger.flush())
        }
        let leading = try throttle(100, .leading)
        leading()
        leading()
        #expect(!leading.flush())
        virtual.advance(by: .seconds(1))
        #expect(calls.all == [0])
    }

    /// The call that follows is not kept waiting, and begins no window of its own.
    @Test func aCallAfterAFlushIsLetThroughWithIt() throws {
        let trigger = try debounce(100, .trailing)
        trigger()
        virtual.advance(by: .milliseconds(30))
        #expect(trigger.flush())
        trigger()
        virtual.advance(by: .zero)
        #expect(calls.all == [30])
        call(trigger, at: [0])
        #expect(calls.all == [30, 130])
    }

    /// The window of a debounce begins with the call, that of a throttle with the handler's call.
    @Test(arguments: [true, false])
    func aLateLeadingCallMovesOnlyTheWindowOfAThrottle(isDebounce: Bool) throws {
        let trigger = isDebounce ? try debounce(100, .both) : try throttle(100, .both)
        trigger()
        virtual.inject(.wakeLate(by: .milliseconds(80)))
        virtual.advance(by: .milliseconds(10))
        trigger()
        virtual.advance(by: .seconds(1))
        #expect(calls.all == (isDebounce ? [80, 110] : [80, 180]))
    }

    @Test(arguments: [true, false]) func aFlushOfWhatHasEndedIsRefused(serviceEnds: Bool) throws {
        let virtual = VirtualTime()
        var target: Log? = Log()
        let trigger = try Debouncer(.seconds(9), on: virtual.service, target: try #require(target)) { _ in }
        trigger()
        if serviceEnds { virtual.service.shutdown() } else { target = nil }
        #expect(!trigger.flush() && !trigger.flush())
        withExtendedLifetime(target) {}
    }

    /// A flush that is accepted while the leading call is delivered sets the timer after that delivery has.
    @Test(.works("a thread flushes while another one delivers")) func anAcceptedFlushIsNotOverwritten() async throws {
        let (virtual, target, calls, throttle) = (virtual, target, Count(), Box<Throttler>())
        let (begun, flushed, rounds) = (Count(), Count(), Effort.of(4_000, thorough: 40_000))
        try await onThreads(2) { thread in
            for round in 1...rounds {
                guard thread == 0 else {
                    while begun.value < round {}
                    // The delivery is met at each of its moments.
                    for _ in 0..<round % 40 { _ = TimerClock.suspending.now }
                    throttle.value?()
                    if throttle.value?.flush() != true { Issue.record("a call waits") }
                    flushed.add(1)
                    continue
                }
                throttle.value = try? Throttler(.seconds(3_600), on: virtual.service, target: target) { _ in
                    calls.add(1)
                }
                throttle.value?()
                begun.add(1)
                virtual.advance(by: .zero)
                while flushed.value < round {}
                virtual.advance(by: .zero)
                if calls.value != 2 * round {
                    Issue.record("a flush was lost in round \(round)")
                    calls.add(2 * round - calls.value)
                }
            }
        }
    }

    @Test func cancelDropsTheWaitingCallAndTheNextOneBegins() throws {
        let trigger = try throttle(100, .both)
        #expect(!trigger.cancel())
        call(trigger, at: [0])
        trigger()
        #expect(trigger.cancel(), "a call at the leading edge that was not delivered yet")
        virtual.advance(by: .milliseconds(50))
        call(trigger, at: [0, 10])
        #expect(calls.all == [0, 1_050, 1_150])
    }

    @Test func aCallDuringAPauseComesItsTimeAfterTheResume() throws {
        let save = try debounce(1_000, .trailing)
        for timer in save.timers { timer.pause() }
        virtual.advance(by: .seconds(100))
        save()
        for timer in save.timers { timer.resume() }
        virtual.advance(by: .seconds(1))
        #expect(calls.all == [101_000])
    }

    @Test func aNegativeTimeIsRefused() {
        for edge in [BurstEdge.leading, .trailing, .both] {
            #expect(throws: TimerError.self) { _ = try debounce(-1, edge) }
            #expect(throws: TimerError.self) { _ = try throttle(-1, edge) }
        }
        #expect(virtual.pendingCount == 0)
    }

    @Test func aReleasedTargetOrTriggerEndsTheTimer() throws {
        var thing: Thing? = Thing()
        let trigger = try Debouncer(.seconds(1), on: virtual.service, target: thing ?? Thing()) { _ in
            Issue.record("its target was released")
        }
        weak let released = thing
        trigger()
        thing = nil
        #expect(released == nil, "the target is not retained")
        virtual.advance(by: .seconds(2))
        #expect(virtual.pendingCount == 0)
        trigger()
        do {
            let dropped = try debounce(100, .trailing)
            dropped()
        }
        virtual.advance(by: .seconds(2))
        #expect(virtual.pendingCount == 0 && calls.all.isEmpty)
    }

    @Test func theHandlerMayCallItsTrigger() throws {
        let (box, calls) = (Box<CallLimiter>(), Count())
        box.value = try Debouncer(.milliseconds(100), on: virtual.service, target: target) { _ in
            if calls.add(1) < 3 { box.value?() }
        }
        box.value?()
        virtual.advance(by: .milliseconds(299))
        #expect(calls.value == 2)
        virtual.advance(by: .seconds(1))
        #expect(calls.value == 3)
        box.value = nil
    }

    /// The queue is held up, so ticks of both edges are late: the leading call comes, and then the last one.
    @Test func aBusyQueueLosesNeitherEdge() throws {
        let (queue, seen, value) = (DispatchQueue(label: "test.debounce"), Notes<Int>(), Count())
        let trigger = try Debouncer(
            .milliseconds(100),
            edge: .both,
            on: virtual.service,
            deliver: .queue(queue),
            target: target
        ) { _ in seen.append(value.value) }
        queue.suspend()
        for _ in 1...5 {
            value.add(1)
            trigger()
            virtual.advance(by: .milliseconds(10))
        }
        virtual.advance(by: .seconds(1))
        queue.resume()
        for _ in 1...5 {
            queue.sync {}
            virtual.advance(by: .seconds(1))
        }
        #expect(seen.all == [5, 5])
    }

    @Test(.works("threads call one trigger")) func theLastCallOfManyThreadsIsNotLost() async throws {
        let (service, value, seen, running) = (try TimerService(.usual), Count(), Box<Int>(), Count())
        let queue = DispatchQueue(label: "test.throttle", attributes: .concurrent)
        let trigger = try Throttler(
            .microseconds(50),
            on: service,
            deliver: .queue(queue),
            target: target
        ) { _ in
            if running.add(1) > 1 { Issue.record("two calls at once") }
            seen.value = value.value
            running.add(-1)
        }
        try await onThreads(4) { _ in
            for _ in 0..<5_000 {
                value.add(1)
                trigger()
            }
        }
        #expect(await soon { seen.value == 20_000 })
        service.shutdown()
    }
}

@MainActor private final class Model {
    var searches = 0
    var frames = 0
}
