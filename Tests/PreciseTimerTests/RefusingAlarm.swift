import PreciseTimer
import TimerAlarms
import TimerCore

/// An alarm that refuses after a number of settings; with none to give it does not even start. It never fires.
final class RefusingAlarm: TimerAlarm {
    static let refusal = TimerError(.systemRefused, "refusing on purpose", errno: 12, systemMessage: "out of luck")

    private struct State {
        var settings: Int
        var onFailure: (@Sendable (TimerError) -> Void)?
    }

    private let state: Lock<State>

    init(settings: Int) { state = Lock(State(settings: settings)) }

    var now: TimerInstant { KernelClock.now(.suspending) }

    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        let isWilling = state.withLock { state in
            state.onFailure = onFailure
            return state.settings > 0
        }
        if !isWilling { throw Self.refusal }
    }

    func set(_ deadline: TimerInstant?) throws(TimerError) {
        let isWilling = state.withLock { state in
            state.settings -= 1
            return state.settings >= 0
        }
        if !isWilling { throw Self.refusal }
    }

    func fail() { state.withLock { $0.onFailure }?(Self.refusal) }

    func stop() {}
}
