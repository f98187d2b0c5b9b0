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

    enum Kind: CaseIterable { case debounce, throttle }

    /// A limiter whose calls are noted with their times, in milliseconds.
    private func limiter(_ kind: Kind, _ ms: Int = 100, _ edge: BurstEdge? = nil, _ cap: Int? = nil) throws
        -> CallLimiter
    {
        let (start, time, longest) = (virtual.now, Duration.milliseconds(ms), cap.map { Duration.milliseconds($0) })
        let service = virtual.service
        let handler: @Sendable (Thing) -> Void = { [calls, virtual] _ in
            calls.append(Int(start.duration(to: virtual.now) / .milliseconds(1)))
        }
        return switch kind {
        case .debounce: try Debouncer(time, edge: edge, longest: longest, on: service, target: target, handler: handler)
        case .throttle: try Throttler(time, edge: edge, longest: longest, on: service, target: target, handler: handler)
        }
    }

    // MARK: Bursts

    /// Does what a script says, at times in milliseconds, and lets a second pass: a time alone is that of a call. A
    /// flush, a cancellation or an extra tick may say its answer.
    private func run(_ trigger: CallLimiter, _ script: String) {
        let start = virtual.now
        for step in (script + ", 1000 deliver").split(separator: ", ") {
            let words = step.split(separator: " ")
            let time = start.advanced(by: .milliseconds(Int(words[0]) ?? 0))
            if virtual.now < time { virtual.advance(by: virtual.now.duration(to: time)) }
            var answer: Bool?
            switch words.dropFirst().first {
            case nil: trigger()
            case "flush": answer = trigger.flush()
            case "cancel": answer = trigger.cancel()
            case "fire": answer = trigger.timers.allSatisfy { $0.fire() }
            case "pause": for timer in trigger.timers { timer.pause() }
            case "resume": for timer in trigger.timers { timer.resume() }
            case "late": virtual.inject(.wakeLate(by: .milliseconds(Int(words[2]) ?? 0)))
            default: virtual.advance(by: .zero)
            }
            if let answer, words.count > 2 { #expect(words[2] == (answer ? "yes" : "no"), "\(step)") }
        }
    }

    /// Calls each 50 ms, which are never 100 ms apart.
    private static let steady = stride(from: 0, through: 600, by: 50).map { "\($0)" }.joined(separator: ", ")

    @Test(
        arguments: [
            (Kind.debounce, nil, nil, "0, 50", [150]), (.throttle, nil, nil, "0, 50", [0, 100]),
            (.debounce, .trailing, nil, "0", [100]), (.debounce, .trailing, nil, "0, 50, 99, 150", [250]),
            (.debounce, .trailing, nil, "0, 200", [100, 300]), (.debounce, .trailing, nil, "0, 100", [100, 200]),
            (.debounce, .leading, nil, "0", [0]), (.debounce, .leading, nil, "0, 50, 140, 239", [0]),
            (.debounce, .leading, nil, "0, 101", [0, 101]), (.debounce, .both, nil, "0", [0]),
            (.debounce, .both, nil, "0, 50, 140", [0, 240]), (.debounce, .both, nil, "0, 150", [0, 150]),
            (.throttle, .trailing, nil, "0", [100]), (.throttle, .trailing, nil, "0, 50, 99, 150", [100, 250]),
            (.throttle, .leading, nil, "0, 50, 99, 150, 199, 260", [0, 150, 260]), (.throttle, .both, nil, "0", [0]),
            (.throttle, .both, nil, "0, 50, 99", [0, 100]),
            (.throttle, .both, nil, "0, 50, 150, 170, 320", [0, 100, 200, 320]),
            // The longest wait. A call at the very moment of the handler's waits for the next one.
            (.debounce, .trailing, 250, steady, [250, 500, 700]), (.debounce, .both, 250, steady, [0, 300, 550, 700]),
            (.debounce, .leading, 250, steady, [0, 250, 500]),
            (.debounce, .trailing, 100, "0, 50, 100, 150, 200", [100, 200, 300]),
            // Nothing of it remains in the next burst.
            (.debounce, .trailing, 250, "0, 50, 100, 150, 200, 250, 800, 890", [250, 350, 990]),
            (.debounce, .both, 250, "0, 50, 100, 150, 200, 250, 300, 800", [0, 300, 400, 800]),
            // The last call is not lost behind one that has passed.
            (.debounce, .both, 200, "0, 25, 200, 220", [0, 125, 200, 320]),
            // A call that comes before its end, which is late, is served with it.
            (.debounce, .trailing, 150, "0, 90, 140 late 20, 160", [170]),
            // Late leading calls: the window of a debounce begins with the call, that of a throttle with the handler's.
            (.debounce, .both, nil, "0, 0 late 80, 10", [80, 110]),
            (.throttle, .both, nil, "0, 0 late 80, 10", [80, 180]),
            // Neither edge is lost if the window has passed.
            (.debounce, .both, nil, "0, 0 late 300, 10", [300, 300]),
            (.throttle, .both, nil, "0, 0 late 300, 10", [300, 400]),
            // A call during a pause comes its time after the resume.
            (.debounce, .trailing, nil, "0 pause, 300, 300 resume", [400]),
            // A flush lets the waiting call through.
            (.debounce, .trailing, nil, "0 flush no, 0, 30 flush yes, 30 deliver, 30 flush no", [30]),
            // Neither the first call, which does not wait, nor the second one has come to the handler.
            (.debounce, .both, nil, "0, 0 flush no, 0, 0 flush yes, 1", [0, 0, 1]),
            (.throttle, .both, nil, "0, 0 flush no, 0, 0 flush yes, 1", [0, 0, 100]),
            // A call after a flush comes with it, and begins no window of its own.
            (.debounce, .trailing, nil, "0, 30 flush yes, 30, 30 deliver, 40", [30, 140]),
            // Nor does one after an extra tick of the timer, which lets the waiting call through, too.
            (.debounce, .trailing, nil, "0, 30 fire yes, 30 deliver, 40", [30, 140]),
            (.throttle, .both, nil, "0, 0 deliver, 10 fire yes", [0]),
            (.throttle, .both, nil, "0, 0 deliver, 10, 10 fire yes", [0, 10]),
            (.throttle, .both, nil, "0, 0 cancel yes, 0 fire yes", []),
            // A call that was dropped, or does not wait, is not flushed.
            (.debounce, .leading, nil, "0, 0, 0 cancel yes, 0 flush no", []),
            (.debounce, .trailing, nil, "0, 0, 0 cancel yes, 0 flush no", []),
            (.debounce, .both, nil, "0, 0, 0 cancel yes, 0 flush no", []),
            (.throttle, .leading, nil, "0, 0, 0 flush no", [0]),
            // The call after a cancellation is the first of a burst.
            (.throttle, .both, nil, "0 cancel no, 0, 50 cancel no", [0]),
            (.throttle, .both, nil, "0, 200, 200 cancel yes, 250, 260", [0, 250, 350]),
        ] as [(Kind, BurstEdge?, Int?, String, [Int])]
    )
    func aBurstIsOneCallAndAPeriodHasOne(
        kind: Kind,
        edge: BurstEdge?,
        longest: Int?,
        script: String,
        expected: [Int]
    ) throws {
        let trigger = try limiter(kind, 100, edge, longest)
        #expect(virtual.nextDeadline == nil)
        run(trigger, script)
        #expect(calls.all == expected)
        #expect(virtual.nextDeadline == nil, "it rests again")
    }

    /// A flush or a cancellation is of its own burst, and changes nothing of the limits.
    @Test(arguments: Kind.allCases, [BurstEdge.leading, .trailing, .both])
    func nothingOfABurstRemainsInTheNextOne(kind: Kind, edge: BurstEdge) throws {
        let longest = kind == .debounce ? 120 : nil
        for former in ["0 flush", "30 flush", "0 cancel", "30 cancel", "0 flush, 0 cancel", "30 flush, 30 cancel"] {
            let trigger = try limiter(kind, 100, edge, longest)
            run(trigger, "0, 0, \(former)")
            let before = calls.all.count
            let burst = "0, 50, 130, 170"
            run(trigger, burst)
            let next = calls.all.dropFirst(before).map { $0 - 1_000 }
            run(try limiter(kind, 100, edge, longest), burst)
            #expect(next == Array(calls.all.dropFirst(before + next.count)), "\(former)")
        }
        #expect(virtual.pendingCount == 0, "a released trigger ends its timer")
    }

    /// Two threads may come in another order than they have read the clock.
    @Test func aCallThatHasReadTheClockEarlierMakesTheBurstNoShorter() throws {
        let (wall, calls) = (VirtualTime(clock: .wall), Notes<TimerInstant>())
        let trigger = try Debouncer(.seconds(9), on: wall.service, target: target) { _ in calls.append(wall.now) }
        let end = wall.now.advanced(by: .seconds(5 + 9))
        trigger()
        wall.advance(by: .seconds(5))
        trigger()
        wall.inject(.stepClock(by: .seconds(-3)))
        wall.advance(by: .zero)
        trigger()
        wall.advance(by: .seconds(60))
        #expect(calls.all == [end])
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

    // MARK: Refusals and ends

    @Test(
        arguments: [
            (Kind.debounce, -1, nil), (.throttle, -1, nil), (.debounce, 100, 99), (.debounce, 100, -1),
            (.throttle, 100, 100), (.throttle, 100, 300),
        ] as [(Kind, Int, Int?)]
    )
    func aTimeThatMakesNoSenseIsRefused(kind: Kind, time: Int, longest: Int?) {
        let error = #expect(throws: TimerError.self) { try limiter(kind, time, nil, longest) }
        #expect(error?.code == .invalidSchedule && virtual.pendingCount == 0)
        #expect(throws: Never.self) { _ = try limiter(kind, 0) }
    }

    enum End: CaseIterable { case target, service, serviceMeanwhile }

    @Test(arguments: End.allCases) func aFlushOfWhatHasEndedIsRefused(end: End) throws {
        let alarm = ManualAlarm()
        let service = try TimerService(alarm: alarm)
        var target: Thing? = Thing()
        let trigger = try Debouncer(.seconds(9), on: service, target: try #require(target)) { _ in }
        trigger()
        switch end {
        case .target: target = nil
        case .service: service.shutdown()
        case .serviceMeanwhile: alarm.happen(before: 1) { service.shutdown() }
        }
        #expect([trigger.flush(), trigger.cancel()] == [false, false])
        withExtendedLifetime(target) {}
    }

    @Test(arguments: Kind.allCases, [BurstEdge.leading, .trailing, .both])
    func aFinishedTriggerLetsItsCallThroughAndRefusesFurtherOnes(kind: Kind, edge: BurstEdge) async throws {
        let late = (edge == .trailing ? [] : [0]) + (edge == .leading ? [] : [100])
        // The handler has heard of neither call, or of the leading one.
        for (second, expected) in [(0, [0]), (50, late)] {
            let (trigger, former) = (try limiter(kind, 100, edge), calls.all.count)
            #expect(trigger())
            if second > 0 { virtual.advanceWithoutSettling(by: .milliseconds(second)) }
            #expect(trigger())
            let finishing = Task.immediate { try await trigger.finish() }
            virtual.jump(by: .milliseconds(second))
            try await finishing.value
            #expect(Array(calls.all.dropFirst(former)) == expected)
            #expect(!trigger() && !trigger.flush())
        }
    }

    // MARK: Threads

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
}
