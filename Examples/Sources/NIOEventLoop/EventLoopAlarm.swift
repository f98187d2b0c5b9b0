import NIOCore
import PreciseTimer
import Synchronization

/// An alarm on an event loop of SwiftNIO: handlers run on the loop.
final class EventLoopAlarm: TimerAlarm {
    private struct State {
        var onFire: (@Sendable () -> Void)?
        var scheduled: Scheduled<Void>?
    }

    private let loop: any EventLoop
    private let state = Mutex(State())

    init(_ loop: any EventLoop) { self.loop = loop }

    /// NIO's deadlines are on the same clock.
    var now: TimerInstant { TimerInstant(nanoseconds: NIODeadline.now().uptimeNanoseconds) }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        state.withLock { $0.onFire = onFire }
    }

    func set(_ deadline: TimerInstant?) {
        guard let deadline, state.withLock({ $0.onFire != nil }) else { return replace(with: nil) }
        let time = NIODeadline.uptimeNanoseconds(min(deadline.nanoseconds, UInt64(Int64.max)))
        replace(with: loop.scheduleTask(deadline: time) { [weak self] in if let self { fire() } })
    }

    func stop() {
        state.withLock { $0.onFire = nil }
        replace(with: nil)
    }

    private func replace(with next: Scheduled<Void>?) {
        let former = state.withLock { state in
            defer { state.scheduled = next }
            return state.scheduled
        }
        former?.cancel()
    }

    private func fire() { state.withLock { $0.onFire }?() }
}
