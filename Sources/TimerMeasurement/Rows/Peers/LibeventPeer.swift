internal import TimerAlarms
internal import TimerCore

/// Persistent events on a libevent base and a thread of their own.
///
/// An event has no start: its grid begins a period after it is added. So its period begins a period before the first
/// deadline, and what it begins late is no lateness of its ticks.
final class LibeventPeer: Ticking {
    private let events: LibeventPersistentEvents

    /// - Throws: `TimerError` where this build has no libevent, or the system refuses what its base or thread needs.
    init(_ probes: [Probe], isPrecise: Bool) throws(TimerError) {
        events = try LibeventPersistentEvents(
            probes.map { probe in
                LibeventPersistentEvents.Event(
                    start: probe.deadlines.beginning,
                    period: probe.deadlines.period,
                    onFire: { now, delay in probe.record(at: now.shifted(by: -delay), .calls) }
                )
            },
            isPrecise: isPrecise
        )
    }

    deinit { events.stop() }

    var failure: TimerError? { events.failure }

    func stop() { events.stop() }
}
