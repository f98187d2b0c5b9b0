import ExampleSupport
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import Synchronization

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
            state.withLock { $0.steps.append(step.by) }
        }
        timer.cancel()
    }
}
