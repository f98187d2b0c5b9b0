/// The timers of a peer in one turn, if each timer ticks by itself and cannot fail.
struct PeerTimers: Ticking {
    let timers: [any Ticking]

    func stop() { for timer in timers { timer.stop() } }
}
