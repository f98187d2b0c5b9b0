internal import TimerCore

/// The timers of a peer in one turn, where each of them is a thing of its own.
struct PeerTimers: Ticking {
    private let timers: [any Ticking]

    /// Starts a timer for each probe; where one is refused those before it are stopped.
    init(_ probes: [Probe], start: (Probe) throws(TimerError) -> any Ticking) throws(TimerError) {
        var timers: [any Ticking] = []
        for probe in probes {
            do throws(TimerError) {
                timers.append(try start(probe))
            } catch {
                for timer in timers { timer.stop() }
                throw error
            }
        }
        self.timers = timers
    }

    var failure: TimerError? { timers.lazy.compactMap(\.failure).first }

    func stop() { for timer in timers { timer.stop() } }
}
