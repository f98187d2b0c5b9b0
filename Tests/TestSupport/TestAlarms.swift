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
    /// How many nanoseconds before its deadline it may fire.
    package let lead: UInt64

    package init(lead: UInt64 = 0) { self.lead = lead }

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

/// An alarm that refuses every setting after a given number of them, and fails when a test asks it to. If that number
/// is 0, its start is refused, too, unless the test says otherwise. It never fires.
package final class RefusingAlarm: TimerAlarm {
    package static let refusal = TimerError(.systemRefused, "refusing on purpose", errno: 12, systemMessage: "no luck")

    private struct State {
        var settings: Int
        var onFailure: (@Sendable (TimerError) -> Void)?
    }

    private let state: Lock<State>
    private let starts: Bool
    /// Called inside `start`, before it returns.
    private let onStart: @Sendable (RefusingAlarm) -> Void
    package let stops = Count()

    package init(
        settings: Int = .max,
        starts: Bool? = nil,
        onStart: @escaping @Sendable (RefusingAlarm) -> Void = { _ in }
    ) {
        state = Lock(State(settings: settings))
        self.starts = starts ?? (settings > 0)
        self.onStart = onStart
    }

    package var now: TimerInstant { TimerClock.suspending.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        state.withLock { $0.onFailure = onFailure }
        onStart(self)
        if !starts { throw Self.refusal }
    }

    package func set(_ deadline: TimerInstant?) throws(TimerError) {
        let isWilling = state.withLock { state in
            state.settings -= 1
            return state.settings >= 0
        }
        if !isWilling { throw Self.refusal }
    }

    package func fail() { state.withLock { $0.onFailure }?(Self.refusal) }

    package func stop() { stops.add(1) }
}
