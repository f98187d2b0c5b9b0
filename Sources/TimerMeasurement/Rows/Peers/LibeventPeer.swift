internal import TimerAlarms
internal import TimerCore

/// Persistent events on a libevent base and a thread of their own.
final class LibeventPeer: Ticking {
    private let events: LibeventPersistentEvents

    /// - Throws: `TimerError` where this build has no libevent, or the system refuses what its base or thread needs.
    init(_ probes: [Probe], isPrecise: Bool) throws(TimerError) {
        events = try LibeventPersistentEvents(
            probes.map { probe in
                LibeventPersistentEvents.Event(
                    start: probe.deadlines.start,
                    period: probe.deadlines.period,
                    onFire: { probe.record(at: $0, .calls) }
                )
            },
            isPrecise: isPrecise
        )
    }

    deinit { events.stop() }

    var failure: TimerError? { events.failure }

    func stop() { events.stop() }
}
