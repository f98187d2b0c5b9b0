internal import HostSystem
internal import PreciseTimer

/// Persistent events on their own libevent base and thread.
///
/// An event cannot be given a start: its grid begins a period after the event is added. So its period begins a period
/// before the first deadline, and its own delay does not count as lateness of the ticks.
final class LibeventPeer: Ticking {
    private let events: LibeventEvents

    /// - Throws: `SystemError` if this build has no libevent, or the system refuses the base's resources or the
    ///   thread.
    init(_ probes: [Probe], isPrecise: Bool) throws(SystemError) {
        events = try LibeventEvents(
            probes.map { probe in
                LibeventEvents.Event(
                    start: probe.deadlines.beginning.nanoseconds,
                    period: probe.deadlines.period,
                    onFire: { probe.record(at: TimerInstant(nanoseconds: $0), .calls) }
                )
            },
            isPrecise: isPrecise
        )
    }

    deinit { events.stop() }

    var failure: (any Error)? { events.failure }

    func stop() { events.stop() }
}
