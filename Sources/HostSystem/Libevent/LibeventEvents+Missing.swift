#if !Libevent
/// libevent's own repetition, in a build without the trait `Libevent`.
package final class LibeventEvents: Sendable {
    /// One event.
    package struct Event: Sendable {
        package init(start: UInt64, period: UInt64, onFire: @escaping @Sendable (UInt64) -> Bool) {}
    }

    /// Always throws.
    package init(_ events: [Event], isPrecise: Bool) throws(SystemError) {
        throw SystemError("starting a libevent event", "the package trait Libevent is disabled")
    }

    package var failure: SystemError? { nil }

    package func stop() {}
}
#endif
