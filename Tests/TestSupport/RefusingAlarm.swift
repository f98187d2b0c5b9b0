internal import PreciseTimer
internal import TimerAlarms
package import TimerKernel

/// An alarm that refuses every setting after a given number of them. If that number is 0, its start is refused, too,
/// unless the test says otherwise. It never fires.
package final class RefusingAlarm: TimerAlarm {
    package static let refusal = TimerError(.systemRefused, "refusing on purpose", errno: 12, systemMessage: "no luck")

    private struct State {
        var settings: Int
        var onFailure: (@Sendable (TimerError) -> Void)?
    }

    private let state: Lock<State>
    private let starts: Bool

    package init(settings: Int, starts: Bool? = nil) {
        state = Lock(State(settings: settings))
        self.starts = starts ?? (settings > 0)
    }

    package var now: TimerInstant { TimerClock.suspending.now }

    package func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        state.withLock { $0.onFailure = onFailure }
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

    package func stop() {}
}
