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
        public func callAsFunction() {
            ask { limit, now in
                limit.call(at: now)
                return true
            }
        }

        /// Lets a call that waits for the trailing edge through, as soon as possible and through the normal path;
        /// behind the call at the leading edge, if that has not come yet. Returns false if no call waits, or if the
        /// target was released or the service has ended.
        @discardableResult
        public func flush() -> Bool { timer?.hasEnded == false && ask { $0.flush(at: $1) } }

        /// Drops a call that waits. Returns false if no call waits. The next call is the first of a burst.
        @discardableResult
        public func cancel() -> Bool { state.withLock(inForkedChild: false) { $0.limit.cancel() } }

        /// Lets the limit decide, and sets the timer. Returns its answer.
        @discardableResult
        private func ask(_ decide: (inout CallLimit, TimerInstant) -> Bool) -> Bool {
            guard let timer else { return false }
            let now = timer.core.now
            let (answer, former, next) = state.withLock { state in
                let former = state.limit.deadline
                let answer = decide(&state.limit, now)
                return (answer, former, state.limit.deadline)
            }
            if let next, next != former, !set(timer, next), timer.hasEnded { return false }
            return answer
        }

        /// Returns whether the handler must be called.
        private func comes(_ tick: Tick) -> Bool {
            // The last tick of a timer that is finished lets all calls through that wait.
            if tick.isExtra { return cancel() }
            let (calls, next, timer) = state.withLock(inForkedChild: (false, nil, nil)) { state in
                let calls = state.limit.tick(at: tick.delivered)
                return (calls, state.limit.deadline, state.timer)
            }
            guard let timer, let next else { return calls }
            if set(timer, next) || timer.hasEnded { return calls }
            // This is the last tick of a timer that is being finished: see above.
            return cancel() || calls
        }

        /// Sets the timer to an instant that the limit has decided on, and then to the latest such instant: another
        /// thread may have decided on that one, and have set the timer before this thread does. Returns false if the
        /// timer takes no orders, because it has ended, with its target or its service, or is being finished.
        @discardableResult
        private func set(_ timer: PreciseTimer, _ instant: TimerInstant) -> Bool {
            var instant = instant
            while timer.setUnlessFinishing(to: instant) {
                let latest = state.withLock(inForkedChild: nil) { $0.limit.deadline } ?? instant
                if latest == instant { return true }
                instant = latest
            }
            return false
        }
    }
}
