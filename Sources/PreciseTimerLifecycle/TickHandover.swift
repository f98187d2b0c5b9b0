#if ServiceLifecycle
internal import PreciseTimer

/// Hands the ticks of a timer to the task of a service. The handler of a tick returns when the task has dealt with it,
/// so that the timer counts the deadlines that pass meanwhile, and a fixed delay begins then.
final class TickHandover: Sendable {
    enum News: Sendable {
        /// A tick, and the handler that waits for the end of its run.
        case tick(PreciseTimer.Tick, isOver: CheckedContinuation<Void, Never>)
        /// No tick comes any more.
        case end(PreciseTimer.EndReason)
    }

    /// For one task, which must read it to the end.
    let news: AsyncStream<News>
    private let sender: AsyncStream<News>.Continuation

    init() { (news, sender) = AsyncStream.makeStream() }

    /// Waits for the end of the tick's run.
    func hand(over tick: PreciseTimer.Tick) async {
        await withCheckedContinuation { isOver in
            // A cancelled task reads no more.
            if case .terminated = sender.yield(.tick(tick, isOver: isOver)) { isOver.resume() }
        }
    }

    func end(_ reason: PreciseTimer.EndReason) {
        sender.yield(.end(reason))
        sender.finish()
    }
}
#endif
