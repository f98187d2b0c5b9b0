internal import TimerAlarms
internal import TimerKernel

/// A mailbox in which a task waits for ticks. It holds at most one hop; the tick is decided only when the task
/// takes the hop.
final class TickMailbox: Sendable {
    private struct State {
        /// A due tick.
        var hop: Hop?
        /// Why the timer ended, if it has ended.
        var ending: PreciseTimer.EndReason?
        /// The task that waits for a tick or for the end.
        var waiting: CheckedContinuation<Void, Never>?
        /// Whether the task was woken, and has not come yet.
        var isWoken = false
    }

    private let state = Lock(State())

    /// Stores a hop, because a tick is due.
    func receive(_ hop: Hop) {
        wake { $0.hop = hop }
        if ending != nil { letGo() }
    }

    /// Notes that the timer has ended.
    func end(_ reason: PreciseTimer.EndReason) {
        wake { $0.ending = reason }
        letGo()
    }

    /// Takes a stored hop of an ended timer, which yields no tick. Until then the service remembers the timer.
    private func letGo() { _ = state.withLock { $0.hop.take() }?.take() }

    /// The next tick; nil if the timer has ended and no tick is left. Only one task may call it at a time.
    func next() async -> PreciseTimer.Tick? {
        while true {
            let (hop, ending) = state.withLock { state in
                state.isWoken = false
                return (state.hop.take(), state.ending)
            }
            if let hop {
                let (tick, again) = hop.take()
                if again { receive(hop) }
                if let tick { return tick }
            } else if ending != nil {
                return nil
            } else {
                await news()
            }
        }
    }

    /// Whether a task waits for a tick, and whether it was woken and will take one.
    var consumer: (isWaiting: Bool, isWoken: Bool) { state.withLock { ($0.waiting != nil, $0.isWoken) } }

    /// Why the timer ended.
    var ending: PreciseTimer.EndReason? { state.withLock { $0.ending } }

    private func news() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.hop != nil || state.ending != nil { return true }
                precondition(state.waiting == nil, "an iterator was asked for its next tick by two tasks at once")
                state.waiting = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            state.isWoken = state.isWoken || state.waiting != nil
            return state.waiting.take()
        }
        waiting?.resume()
    }
}
