#if ServiceLifecycle
public import PreciseTimer
public import ServiceLifecycle

/// Ends timers when the program shuts down gracefully, as a service of
/// [swift-service-lifecycle](https://github.com/swift-server/swift-service-lifecycle).
///
/// ```swift
/// let timers = TimerBag()
/// try PreciseTimer.schedule(.every(.seconds(5)), target: cache) { cache, _ in cache.expire() }.store(in: timers)
/// let group = ServiceGroup(services: [server, TimerShutdown(of: timers)], logger: logger)
/// ```
///
/// A group shuts its services down in reverse order. Put this after the services that your handlers use: the timers
/// then end first.
public struct TimerShutdown: Service {
    private enum Timers {
        case service(TimerService)
        case bag(TimerBag)
    }

    private let timers: Timers

    /// Ends a service of your own, with all its timers.
    ///
    /// - Parameter service: the service.
    /// - Throws: `TimerError` for a shared service, which also has the timers of other code: hold your own in a bag.
    public init(of service: TimerService) throws(TimerError) {
        if service.isShared {
            let reason = "it has the timers of other code, too; hold your timers in a TimerBag"
            throw TimerError(.invalidOption, "shutting a shared service down with the program (\(reason))")
        }
        timers = .service(service)
    }

    /// Ends the timers in a bag, on whatever services they are.
    public init(of bag: TimerBag) { timers = .bag(bag) }

    /// Waits until the program shuts down gracefully or its task is cancelled. Then ends the timers, and waits for
    /// their handlers that are running.
    public func run() async throws {
        // It throws if the task is cancelled, which ends the timers, too.
        try? await gracefulShutdown()
        switch timers {
        case .service(let service): await service.shutdownAndWait()
        case .bag(let bag): await bag.cancelAllAndWait()
        }
    }
}
#endif
