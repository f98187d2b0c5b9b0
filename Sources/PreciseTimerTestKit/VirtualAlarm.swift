package import PreciseTimer
internal import TimerAlarms

/// An alarm, and its clock, that go when they are told to.
package final class VirtualAlarm: TimerAlarm {
    private struct State {
        var now = TimerInstant(nanoseconds: 1_000_000_000)
        var deadline: TimerInstant?
        var onFire: (@Sendable () -> Void)?
        var isFiring = false
    }

    private let state = Lock(State())

    package init() {}

    package var now: TimerInstant { state.withLock { $0.now } }

    package func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        state.withLock { $0.onFire = onFire }
    }

    package func set(_ deadline: TimerInstant?) { state.withLock { $0.deadline = deadline } }

    package func stop() { state.withLock { $0.onFire = nil } }

    /// Moves the clock, stopping to fire at every deadline on the way.
    package func advance(by duration: Duration) {
        let end = now.advanced(by: duration)
        while let deadline, deadline <= end { fire(at: max(deadline, now)) }
        move(to: end)
    }

    /// Moves the clock in one step, and then fires for what has passed.
    package func jump(by duration: Duration) {
        move(to: now.advanced(by: duration))
        advance(by: .zero)
    }

    /// What a running alarm is set to.
    private var deadline: TimerInstant? { state.withLock { $0.onFire == nil ? nil : $0.deadline } }

    private func move(to now: TimerInstant) {
        state.withLock { state in
            precondition(!state.isFiring, "virtual time was moved from inside a handler, or by two threads at once")
            state.now = now
        }
    }

    /// Moves the clock and fires, which uses up the setting.
    private func fire(at now: TimerInstant) {
        move(to: now)
        let onFire = state.withLock { state in
            state.deadline = nil
            state.isFiring = true
            return state.onFire
        }
        onFire?()
        state.withLock { $0.isFiring = false }
    }
}
