internal import TimerCore

/// What ticks for a row in one turn, from its creation to its `stop()`: timers of a backend or a peer, or a reference's loop.
///
/// It records each tick with the probe of the timer that ticked, until the probe wants no more.
protocol Ticking: Sendable {
    /// Why nothing ticks any more; nil where nothing is known to have failed.
    var failure: TimerError? { get }

    /// Ends all ticking. No tick begins after it has returned, though one may still run.
    func stop()
}
