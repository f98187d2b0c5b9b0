internal import TimerAlarms
public import TimerKernel

extension PreciseTimer {
    /// Which calls of a burst call the handler.
    public enum Edge: Hashable, Sendable {
        /// The first call, at once.
        case leading
        /// The last call, at the end.
        case trailing
        /// The first call at once and, if more calls follow, the last one at the end.
        case both
    }

    /// Calls a handler once for a burst of calls: when no call has come for a time, or at the first one.
    ///
    /// ```swift
    /// let save = try PreciseTimer.debounce(.milliseconds(300), deliver: .queue(queue), target: model) { $0.save() }
    /// save()                                          // with each change
    /// ```
    ///
    /// The last call of a burst is never lost with ``Edge/trailing`` and ``Edge/both``. The handler is never called
    /// twice at once, wherever it runs. The timer does not retain the target. It ends if the target or the trigger is
    /// released.
    ///
    /// - Parameters:
    ///   - quiet: how long no call must come before the burst is over. Not negative.
    ///   - edge: which calls of the burst call the handler.
    ///   - service: the running backend to use.
    ///   - tolerance: how late the handler may be called on purpose. Not negative.
    ///   - deliver: where the handler runs. A call at the leading edge runs there, too, as soon as possible.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that ``TimerService/activeTimers`` names.
    ///   - target: the object that the handler receives.
    ///   - handler: called with the target.
    /// - Returns: the trigger. Keep it, and call it.
    /// - Throws: `TimerError` for a negative time, or if the system refuses a thread or descriptor.
    public static func debounce<Target: AnyObject & Sendable>(
        _ quiet: Duration,
        edge: Edge = .trailing,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(quiet, edge, isDebounce: true))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }

    /// The same for a handler that is isolated to the main actor, and runs there:
    /// `debounce(.milliseconds(300), deliver: .mainActor, target: model) { model in model.search() }`.
    public static func debounce<Target: AnyObject & Sendable>(
        _ quiet: Duration,
        edge: Edge = .trailing,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: MainActorDelivery,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @MainActor @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(quiet, edge, isDebounce: true))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }

    /// Calls a handler at most once in a period, however often it is triggered.
    ///
    /// ```swift
    /// let draw = try PreciseTimer.throttle(.milliseconds(16), target: model) { model in model.refresh() }
    /// draw()                                          // with each change
    /// ```
    ///
    /// With ``Edge/leading`` the first call goes through at once, and further calls in the period after it are dropped.
    /// With ``Edge/trailing`` one call goes through a period after the first one. ``Edge/both`` does the first, and the
    /// last call of a period goes through at its end, which begins the next period.
    ///
    /// Otherwise like `debounce`, which describes the
    /// other parameters.
    ///
    /// - Parameters:
    ///   - period: the least time between two calls of the handler. Not negative.
    ///   - edge: which calls in a period call the handler.
    ///   - service: the running backend to use.
    ///   - tolerance: how late the handler may be called on purpose. Not negative.
    ///   - deliver: where the handler runs.
    ///   - label: a name for ``TimerService/activeTimers``.
    ///   - file: the file that ``TimerService/activeTimers`` names.
    ///   - line: the line that ``TimerService/activeTimers`` names.
    ///   - target: the object that the handler receives.
    ///   - handler: called with the target.
    /// - Returns: the trigger. Keep it, and call it.
    /// - Throws: `TimerError` for a negative time, or if the system refuses a thread or descriptor.
    public static func throttle<Target: AnyObject & Sendable>(
        _ period: Duration,
        edge: Edge = .both,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(period, edge, isDebounce: false))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }

    /// The same for a handler that is isolated to the main actor, and runs there.
    public static func throttle<Target: AnyObject & Sendable>(
        _ period: Duration,
        edge: Edge = .both,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: MainActorDelivery,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @MainActor @Sendable (Target) -> Void
    ) throws(TimerError) -> Trigger {
        let trigger = try Trigger(CallLimit(period, edge, isDebounce: false))
        return try trigger.start(service, tolerance, deliver, label, file, line, target, handler)
    }
}

extension PreciseTimer {
    /// Calls a handler that is debounced or throttled. All members may be used from any thread, and from inside the
    /// handler. After its service was shut down, and in a forked child, it does nothing.
    public final class Trigger: Sendable {
        private struct State {
            var limit: CallLimit
            /// The timer on demand that calls the handler.
            var timer: PreciseTimer?
        }

        private let state: Lock<State>

        init(_ limit: CallLimit) throws(TimerError) {
            if limit.length < .zero {
                let attempted = "debouncing or throttling by \(limit.length.text) (it must not be negative)"
                throw TimerError(.invalidSchedule, attempted)
            }
            state = Lock(State(limit: limit))
        }

        deinit { timer?.cancel() }

        private var timer: PreciseTimer? { state.withLock(inForkedChild: nil) { $0.timer } }

        /// Makes the timer. Called once. Returns the trigger.
        fileprivate func start<Target: AnyObject & Sendable>(
            _ service: TimerService,
            _ tolerance: Duration,
            _ deliver: Delivery,
            _ label: String?,
            _ file: StaticString,
            _ line: UInt,
            _ target: Target,
            _ handler: @escaping @Sendable (Target) -> Void
        ) throws(TimerError) -> Trigger {
            let timer = try PreciseTimer.schedule(
                .onDemand,
                on: service,
                tolerance: tolerance,
                deliver: deliver,
                label: label,
                file: file,
                line: line,
                target: target
            ) { [weak self] target, tick in
                if self?.comes(tick) == true { handler(target) }
            }
            state.withLock { $0.timer = timer }
            return self
        }

        /// The same on the main actor.
        fileprivate func start<Target: AnyObject & Sendable>(
            _ service: TimerService,
            _ tolerance: Duration,
            _ deliver: MainActorDelivery,
            _ label: String?,
            _ file: StaticString,
            _ line: UInt,
            _ target: Target,
            _ handler: @escaping @MainActor @Sendable (Target) -> Void
        ) throws(TimerError) -> Trigger {
            let timer = try PreciseTimer.schedule(
                .onDemand,
                on: service,
                tolerance: tolerance,
                deliver: deliver,
                label: label,
                file: file,
                line: line,
                target: target
            ) { [weak self] target, tick in
                if self?.comes(tick) == true { handler(target) }
            }
            state.withLock { $0.timer = timer }
            return self
        }

        /// A call, of which the handler hears as its edge and its times say. Constant time.
        public func callAsFunction() { ask { $0.call(at: $1) } }

        /// Lets a call that waits for the trailing edge through, as soon as possible and through the normal path.
        /// Returns false if no call waits.
        @discardableResult
        public func flush() -> Bool { ask { $0.flush(at: $1) } }

        /// Drops a call that waits. Returns false if no call waits. The next call is the first of a burst.
        @discardableResult
        public func cancel() -> Bool { state.withLock(inForkedChild: false) { $0.limit.cancel() } }

        /// Sets the timer to the instant that the limit decides on. Returns false if there is none.
        @discardableResult
        private func ask(_ decide: (inout CallLimit, TimerInstant) -> TimerInstant?) -> Bool {
            guard let timer else { return false }
            let now = timer.core.now
            guard let instant = state.withLock({ decide(&$0.limit, now) }) else { return false }
            set(timer, instant)
            return true
        }

        /// Returns whether the handler must be called. The last tick of a timer that is finished, which stands for no
        /// deadline, lets a waiting call through.
        private func comes(_ tick: Tick) -> Bool {
            if tick.isExtra { return cancel() }
            let now = tick.delivered
            let (calls, next, timer) = state.withLock(inForkedChild: (false, nil, nil)) { state in
                let (calls, next) = state.limit.tick(at: now)
                return (calls, next, state.timer)
            }
            if let timer, let next { set(timer, next) }
            return calls
        }

        /// A refusal means that the timer has ended, with its target or its service.
        private func set(_ timer: PreciseTimer, _ instant: TimerInstant) {
            try? timer.reschedule(.once(at: instant))
        }
    }
}
