internal import TimerCore

/// The timers of a peer in one turn, where each of them is a thing of its own.
struct PeerTimers: Ticking {
    let timers: [any Ticking]

    var failure: TimerError? { timers.lazy.compactMap(\.failure).first }

    func stop() { for timer in timers { timer.stop() } }
}
