import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

// MARK: Tolerance and a busy run loop

extension ComingFromNSTimerTests {
    @Test func ticksAreLateByAtMostTheToleranceAndNeverEarly() throws {
        let tolerance = Duration.milliseconds(100)
        // The tolerance rounds up to round instants, and these deadlines are not round.
        try PreciseTimer.schedule(
            .every(.microseconds(333_333)),
            on: virtual.service,
            tolerance: tolerance,
            target: log
        ) { $0.note($1) }
        virtual.inject(.wakeEarly(by: .milliseconds(200)), after: .seconds(3))
        virtual.advance(by: .seconds(60))
        let lateness = log.ticks.map(\.lateness)
        #expect(lateness.count >= 179)
        #expect(lateness.allSatisfy { (.zero...tolerance).contains($0) })
        #expect(lateness.contains { $0 > .milliseconds(1) }, "the tolerance is used to share wake-ups")
        let first = try #require(log.ticks.first).deadline
        let nominal = (0..<lateness.count).map { Duration.microseconds(333_333) * $0 }
        #expect(log.ticks.map { first.duration(to: $0.deadline) } == nominal)
    }

    @Test func ticksDelayedByABusyThreadBecomeOneLateTickThatCountsThem() throws {
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        try PreciseTimer.schedule(.once(after: .milliseconds(1_500)), on: virtual.service, target: log) {
            [virtual] _, _ in
            virtual.advance(by: .seconds(3))
        }
        virtual.advance(by: .seconds(5))
        #expect(log.ticks.map(\.index) == [0, 1, 4])
        #expect(log.ticks.map(\.missed) == [0, 2, 0])
        #expect(log.ticks.map(\.lateness) == [.zero, .milliseconds(2_500), .zero])
    }
}

#if RunLoop
// MARK: Run loops and their modes

extension ComingFromNSTimerTests {
    @Test func aTimerCanBeAttachedToARunLoopAndMode() throws {
        let (log, loop) = (log, RunLoop.current)
        let (normal, other) = (RunLoop.Mode.default, RunLoop.Mode("of its own"))
        let service = try TimerService(attachedTo: loop, mode: other)
        defer { service.shutdown() }
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2)), on: service) { _, tick in log.note(tick) }
        _ = loop.run(mode: normal, before: Date(timeIntervalSinceNow: 0.02))
        #expect(log.count == 0, "the loop has not been run in its mode")
        for _ in 0..<1_000 where log.count < 3 {
            _ = loop.run(mode: other, before: Date(timeIntervalSinceNow: 0.05))
        }
        #expect(log.count >= 3)
        #expect(log.ticks.allSatisfy { $0.lateness >= .zero })
        timer.cancel()
    }
}
#endif

// MARK: A Dispatch timer

extension ComingFromNSTimerTests {
    @Test func dispatchNeedsNoRunLoopAndItsServiceIsKeptByItsTimer() throws {
        let log = log
        weak var released: TimerService?
        let timer = try {
            let service = try TimerService(.dispatch)
            released = service
            return try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        }()
        #expect(eventually { log.count >= 3 }, "on a thread that runs no run loop")
        #expect(released != nil, "only the timer holds it")
        timer.cancel()
        #expect(eventually { released == nil })
    }

    /// A Dispatch source that is released before it was activated, or while it is suspended, ends the process.
    @Test func dispatchServicesAreReleasedUnusedAndWithPausedTimers() throws {
        weak var unused: TimerService?
        weak var released: TimerService?
        do {
            let service = try TimerService(.dispatch)
            unused = service
            let other = try TimerService(.dispatch)
            released = other
            let never = try PreciseTimer.schedule(.every(.milliseconds(1)), on: other, paused: true) { [log] in
                log.note($1)
            }
            let later = try PreciseTimer.schedule(.every(.milliseconds(1)), on: other) { [log] in log.note($1) }
            later.pause()
            let count = log.count
            pause(.milliseconds(5))
            #expect(log.count <= count + 1, "at most the running tick finished")
            #expect([never.state, later.state] == [.paused, .paused])
        }
        #expect(eventually { unused == nil })
        #expect(eventually { released == nil })
    }

    @Test func aPausedTimerOnDispatchMayBeEndedInAnyWay() throws {
        let endings = Notes<PreciseTimer.EndReason>()
        let service = try TimerService(.dispatch)
        for way in 0..<3 {
            var handle: PreciseTimer? = try PreciseTimer.schedule(
                .every(.seconds(3_600)),
                on: service,
                paused: true,
                onEnd: endings.append
            ) { _, _ in }
            handle?.resume()
            handle?.resume()
            handle?.pause()
            handle?.pause()
            switch way {
            case 0: handle?.cancel()
            case 1: handle = nil
            default: service.shutdown()
            }
        }
        #expect(endings.all == [.cancelled, .handleReleased, .serviceShutDown])
    }
}
