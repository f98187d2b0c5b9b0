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
        case holder(any TimerHolder)
    }

    private let timers: Timers
    private let lastTick: Bool
    private let limit: Duration?

    /// Ends a service of your own, with all its timers.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - lastTick: whether each timer ticks once more before it ends, so that a timer that flushes or saves leaves
    ///     nothing behind. See `PreciseTimer.finish(within:)`.
    ///   - limit: how long to wait for handlers, in real time; nil for as long as they take.
    /// - Throws: `TimerError` for a shared service, which also has the timers of other code: hold your own in a bag.
    public init(
        of service: TimerService,
        lastTick: Bool = false,
        within limit: Duration? = nil
    ) throws(TimerError) {
        if service.isShared {
            let reason = "it has the timers of other code, too; hold your timers in a TimerBag"
            throw TimerError(.invalidOption, "shutting a shared service down with the program (\(reason))")
        }
        timers = .service(service)
        (self.lastTick, self.limit) = (lastTick, limit)
    }

    /// Ends the timers in a bag, on whatever services they are. The parameters are those for a service.
    public init(of bag: TimerBag, lastTick: Bool = false, within limit: Duration? = nil) {
        timers = .bag(bag)
        (self.lastTick, self.limit) = (lastTick, limit)
    }

    /// Ends one timer, or whatever else has timers, such as debouncers and idle time-outs. The parameters are those for
    /// a service.
    public init(of holder: some TimerHolder, lastTick: Bool = false, within limit: Duration? = nil) {
        timers = .holder(holder)
        (self.lastTick, self.limit) = (lastTick, limit)
    }

    /// Waits until the program shuts down gracefully or its task is cancelled. Then ends the timers, and waits for
    /// their handlers that are running. Handlers that await are cancelled, except in their last tick.
    ///
    /// - Throws: `TimerError` that names the timers whose handlers have not returned within the limit.
    public func run() async throws {
        // It throws if the task is cancelled, which ends the timers, too.
        try? await gracefulShutdown()
        switch timers {
        case .service(let service): _ = try await service.shutdownAndWait(lastTick: lastTick, within: limit)
        case .bag(let bag): try await end(bag)
        case .holder(let holder):
            let bag = TimerBag()
            holder.store(in: bag)
            try await end(bag)
        }
    }

    private func end(_ bag: TimerBag) async throws {
        if lastTick { return try await bag.finishAll(within: limit) }
        if let limit { try await bag.cancelAllAndWait(within: limit) } else { await bag.cancelAllAndWait() }
    }
}
#endif
