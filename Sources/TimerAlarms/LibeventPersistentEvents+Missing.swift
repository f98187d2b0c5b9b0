#if !Libevent
package import TimerCore

/// libevent's own repetition, in a build without the trait `Libevent`.
package final class LibeventPersistentEvents: Sendable {
    /// What is asked of one event.
    package struct Event: Sendable {
        package init(
            start: TimerInstant,
            period: UInt64,
            onFire: @escaping @Sendable (TimerInstant, Int64) -> Bool
        ) {}
    }

    /// Refuses.
    package init(_ events: [Event], isPrecise: Bool) throws(TimerError) {
        throw TimerError(.unavailable, "starting a libevent event (the package trait Libevent is disabled)")
    }

    /// Nothing was ever started.
    package var failure: TimerError? { nil }

    package func stop() {}
}
#endif
