/// The ticks of a row in one turn: timers of a backend or a peer, or a reference's loop. Ticks begin at the creation
/// and end with `stop()`.
///
/// Each tick is recorded with the probe of its timer, until the probe wants no more.
protocol Ticking: Sendable {
    /// Why nothing ticks any more; nil if no failure is known, which is the default.
    var failure: (any Error)? { get }

    /// Ends all ticking. No tick begins after it has returned, though one tick may still run.
    func stop()
}

extension Ticking {
    var failure: (any Error)? { nil }
}
