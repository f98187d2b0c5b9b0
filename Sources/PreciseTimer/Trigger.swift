internal import TimerAlarms
internal import TimerKernel

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

        /// The timer; nil in a forked child.
        var timer: PreciseTimer? { state.withLock(inForkedChild: nil) { $0.timer } }

        /// Makes the timer. Called once. Returns the trigger.
        func start<Target: AnyObject & Sendable>(
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
        func start<Target: AnyObject & Sendable>(
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
