internal import PreciseTimer
internal import TimerAlarms
package import TimerKernel

/// An alarm that fires when a test asks it to, even after a stop, and records its settings.
package final class ManualAlarm: TimerAlarm {
    private struct State {
        var now = TimerInstant(nanoseconds: 1_000)
        var settings: [TimerInstant?] = []
        var onFire: (@Sendable () -> Void)?
        /// How long each reading of the clock takes.
        var step = Duration.zero
        /// Something that happens before a later reading of the clock.
        var event: (@Sendable () -> Void)?
        var readingsToEvent = 0
    }

    private let state = Lock(State())

    package init() {}

    package var now: TimerInstant {
        let event = state.withLock { state in
            state.readingsToEvent -= 1
            return state.readingsToEvent == 0 ? state.event.take() : nil
        }
        event?()
        return state.withLock { state in
            state.now = state.now.advanced(by: state.step)
            return state.now
        }
    }

    /// All settings, in order.
    package var settings: [TimerInstant?] { state.withLock { $0.settings } }

    package func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        state.withLock { $0.onFire = onFire }
    }

    package func set(_ deadline: TimerInstant?) { state.withLock { $0.settings.append(deadline) } }

    package func stop() {}

    package func move(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

    /// From now on each reading of the clock moves it.
    package func moveWithEachReading(by step: Duration) { state.withLock { $0.step = step } }

    /// Lets something happen just before a later reading of the clock, which must not be made with a lock held.
    package func happen(before reading: Int, _ event: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.event = event
            state.readingsToEvent = reading
        }
    }

    package func fire() { state.withLock { $0.onFire }?() }
}
