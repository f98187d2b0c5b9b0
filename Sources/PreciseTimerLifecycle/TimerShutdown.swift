#if ServiceLifecycle
public import PreciseTimer
public import ServiceLifecycle

/// Ends timers when the program shuts down gracefully, as a service of
/// [swift-service-lifecycle](https://github.com/swift-server/swift-service-lifecycle).
///
/// ```swift
/// let timers = TimerBag()
/// try PreciseTimer.schedule(.every(.seconds(5)), target: cache) { cache, _ in cache.expire() }.store(in: timers)
///
/// var configuration = ServiceGroupConfiguration(
///     services: [server, TimerShutdown(of: timers, within: .seconds(5))],
///     gracefulShutdownSignals: [.sigterm],
///     logger: logger
/// )
/// configuration.maximumGracefulShutdownDuration = .seconds(20)    // for all services; then it cancels them
/// configuration.maximumCancellationDuration = .seconds(5)         // then it ends the process
/// try await ServiceGroup(configuration: configuration).run()
/// ```
///
/// A group shuts its services down in reverse order. Put this after the services that your handlers use, and before
/// those that use the timers: in the one case the timers end first, in the other last.
///
/// **A handler that never returns** holds the shutdown up. `within:` limits that, and the error names the timer. A
/// service cannot know its group's limits. So if `within:` is nil, or longer than `maximumGracefulShutdownDuration`,
/// the error comes when the group cancels this service during the shutdown. A group without that limit waits for ever;
/// one that is cancelled at once, because another service failed, ends the process after `maximumCancellationDuration`
/// with a message that names no timer. So choose a `within:` that is shorter than both, and than what a supervisor
/// allows (systemd 90 s, Kubernetes 30 s) less the time that the services after this one take.
public struct TimerShutdown: Service, CustomStringConvertible {
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
    ///   - limit: how long to wait for handlers, in real time; nil for as long as they take, or the group lets them.
    /// - Throws: `TimerError` for a shared service, which also has the timers of other code: hold your own in a bag.
    public init(of service: TimerService, within limit: Duration? = nil) throws(TimerError) {
        if service.isShared {
            let reason = "it has the timers of other code, too; hold your timers in a TimerBag"
            throw TimerError(.invalidOption, "shutting a shared service down with the program (\(reason))")
        }
        timers = .service(service)
        (lastTick, self.limit) = (false, limit)
    }

    /// Ends the timers in a bag, on whatever services they are.
    ///
    /// - Parameters:
    ///   - bag: the bag.
    ///   - lastTick: whether each timer ticks once more before it ends, so that a timer that flushes or saves leaves
    ///     nothing behind. See `PreciseTimer.finish(within:)`.
    ///   - limit: how long to wait for handlers, in real time; nil for as long as they take, or the group lets them.
    public init(of bag: TimerBag, lastTick: Bool = false, within limit: Duration? = nil) {
        timers = .bag(bag)
        (self.lastTick, self.limit) = (lastTick, limit)
    }

    /// Ends one timer, or whatever else has timers, such as debouncers and idle time-outs. The parameters are those for
    /// a bag.
    public init(of holder: some TimerHolder, lastTick: Bool = false, within limit: Duration? = nil) {
        timers = .holder(holder)
        (self.lastTick, self.limit) = (lastTick, limit)
    }

    /// What the group's messages call it, as in `shutdown of bag of 2 timers`.
    public var description: String {
        switch timers {
        // Each of its timers has a line of its own.
        case .service(let service): "shutdown of \("\(service)".prefix { $0 != "\n" })"
        case .bag(let bag): "shutdown of \(bag)"
        case .holder(let holder): "shutdown of \(holder)"
        }
    }

    /// Waits until the program shuts down gracefully or its task is cancelled. Then ends the timers, and waits for
    /// their running handlers. Handlers that await are cancelled, except in their last tick.
    ///
    /// If the task is cancelled during a graceful shutdown, because the group's limit is over, all handlers are
    /// cancelled, and have one more second.
    ///
    /// - Throws: `TimerError` that names the timers whose handlers have not returned within the limit, or within that
    ///   second.
    public func run() async throws {
        // It throws if the task is cancelled, which ends the timers, too.
        try? await gracefulShutdown()
        let ending = Ending(of: timers)
        if Task.isCancelled, !Task.isShuttingDownGracefully {
            return try await ending.perform(lastTick: lastTick, within: limit)
        }
        // A task of its own, for which a cancelled call need not wait.
        let (over, sender) = AsyncThrowingStream<Void, any Error>.makeStream()
        Task {
            do {
                try await ending.perform(lastTick: lastTick, within: limit)
                sender.finish()
            } catch {
                sender.finish(throwing: error)
            }
        }
        for try await _ in over {}
        if Task.isCancelled { try await ending.performAfterCancellation() }
    }

    /// The holder to end. The timers of a bag are those of the beginning of the shutdown.
    private enum Ending {
        case service(TimerService)
        case members([any TimerHolder])

        init(of timers: Timers) {
            switch timers {
            case .service(let service): self = .service(service)
            case .bag(let bag): self = .members(bag.removeAll())
            case .holder(let holder): self = .members([holder])
            }
        }

        func perform(lastTick: Bool, within limit: Duration?) async throws(TimerError) {
            switch self {
            case .service(let service): _ = try await service.shutdownAndWait(upTo: limit)
            case .members(let members): try await TimerBag.end(members, lastTick: lastTick, within: limit)
            }
        }

        func performAfterCancellation() async throws(TimerError) {
            do throws(TimerError) { try await perform(lastTick: false, within: .seconds(1)) } catch {
                let hint = "make `within:` shorter than the group's maximumGracefulShutdownDuration"
                throw TimerError(error.code, "\(error.attempted), after the group had cancelled the shutdown (\(hint))")
            }
        }
    }
}
#endif
