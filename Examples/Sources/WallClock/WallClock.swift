import ExampleSupport
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import Synchronization

/// Whole seconds of the wall clock, as dates; and what happens if the clock is set, on virtual time.
@main
enum WallClock {
    static func main() async throws {
        let bell = Bell()
        let ringing = Task { try await bell.ring(on: .wall) }
        try await wait(for: "two rings") { bell.rings.count >= 2 }
        ringing.cancel()
        try await ringing.value
        for date in bell.rings {
            let seconds = date.timeIntervalSince1970
            check(seconds == seconds.rounded(), "\(seconds) is not a whole second")
        }
        print("wall clock: the bell rang at", bell.rings.map { $0.formatted(.iso8601) }.joined(separator: ", "))
        try await setTheClock()
    }

    private static func setTheClock() async throws {
        let virtual = VirtualTime(clock: .wall)
        let bell = Bell()
        let ringing = Task { try await bell.ring(on: virtual.service) }
        try await wait(for: "the bell") { virtual.pendingCount == 1 }
        await virtual.advance(by: .milliseconds(2_500))
        virtual.inject(.stepClock(by: .seconds(-3_600)))
        await virtual.advance(by: .zero)
        try await wait(for: "the news of the step") { bell.steps.count == 1 }
        await virtual.advance(by: .milliseconds(2_500))
        ringing.cancel()
        try await ringing.value
        print("set back by an hour: \(bell.rings.count) rings on virtual time, \(bell.steps.count) step")
        check(bell.rings.count == 5, "\(bell.rings.count) rings in five seconds")
        check(bell.steps == [.seconds(-3_600)], "the steps were \(bell.steps)")
        check(virtual.pendingCount == 0, "the bell's timer is still there")
    }
}

/// A bell that rings on each whole second of the wall clock, even if somebody sets the clock.
final class Bell: Sendable {
    private let state = Mutex<(rings: [Date], steps: [Duration])>(([], []))

    var rings: [Date] { state.withLock { $0.rings } }
    var steps: [Duration] { state.withLock { $0.steps } }

    /// Rings until the task is cancelled.
    func ring(on service: TimerService) async throws {
        // Before the timer, so that no step is lost.
        let steps = try service.clockSteps
        let wholeSeconds = PreciseTimer.Schedule.every(.seconds(1), alignedTo: .origin(on: .wall))
        let timer = try PreciseTimer.schedule(wholeSeconds, on: service, target: self) { bell, tick in
            guard let date = Date(tick.deadline) else { fail("the deadline is not on the wall clock") }
            bell.state.withLock { $0.rings.append(date) }
        }
        // If the clock is set back by an hour, the timer's next deadline is an hour away.
        for try await step in steps {
            try timer.reschedule(wholeSeconds)
            state.withLock { $0.steps.append(step.change) }
        }
        timer.cancel()
    }
}
