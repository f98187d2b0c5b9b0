public import PreciseTimer
internal import TimerKernel

/// What ``Debouncer`` and ``Throttler`` have in common: their forms, and what can be done with them. Make one of those.
///
/// The handler is never called twice at once, wherever it runs. The timer does not retain the target. It ends if the
/// target or this object is released, or if it is in a bag that ends. After that, after its service was shut down, and
/// in a forked child, this object does nothing. It also ignores calls in and after the last tick of a finished timer.
/// All members may be used from any thread, and from inside the handler.
///
/// It is `@unchecked Sendable` because it has subclasses. They have no state, and its own is constant, or has a lock.
public class CallLimiter: @unchecked Sendable {
    private struct State {
        var limit: CallLimit
        /// The timer on demand that calls the handler.
        var timer: PreciseTimer?
    }

    private let state: Lock<State>
    /// The service of the timer, which keeps it alive.
    private weak let service: TimerService?

    /// Whether each call makes the window longer.
    class var isDebounce: Bool { true }

    /// Calls a handler that awaits nothing: `{ model in model.save() }`, or `{ @MainActor model in model.save() }`.
    ///
    /// - Parameters:
    ///   - time: how long no call must come, or the least time between two calls of the handler. Not negative.
    ///   - edge: which calls call the handler; nil for that of the class.
    ///   - longest: how long a call of a burst waits at most for the handler, if further calls never stop; nil for any
    ///     time. At least `time`. For a ``Debouncer`` only: in a throttler no call waits longer than `time`.
    ///   - service: the running backend to use.
    ///   - tolerance: how late the handler may be called on purpose. Not negative.
    ///   - deliver: where the handler runs, also a call at the leading edge; one that is isolated to an actor runs on
    ///     that actor instead.
    ///   - label: a name for `TimerService.activeTimers`.
    ///   - file: the file that `TimerService.activeTimers` names.
    ///   - line: the line that `TimerService.activeTimers` names.
    ///   - target: the object that the handler receives.
    ///   - handler: called with the target.
    /// - Throws: `TimerError` for a negative time, for a longest wait that makes no sense, or if the system refuses a
    ///   thread or descriptor.
    public convenience init<Target: AnyObject & Sendable>(
        _ time: Duration,
        edge: BurstEdge? = nil,
        longest: Duration? = nil,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        deliver: PreciseTimer.Delivery = .inline,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @isolated(any) @Sendable (Target) -> Void
    ) throws(TimerError) {
        let (actor, plain) = (handler.isolation, calledInPlace(handler))
        let handler = PatternHandler(place: deliver, plain: plain, actor: { actor }, inTask: { await handler($1) })
        try self.init(time, edge, longest, (service, tolerance, label, file, line), target, handler)
    }

    /// Calls a handler that awaits: `{ model in await model.save() }`. It runs in a task, on its actor if it is
    /// isolated to one. While it awaits, calls come together in the next one. Otherwise like the first form.
    public convenience init<Target: AnyObject & Sendable>(
        _ time: Duration,
        edge: BurstEdge? = nil,
        longest: Duration? = nil,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @isolated(any) @Sendable (Target) async -> Void
    ) throws(TimerError) {
        let actor = handler.isolation
        let handler = PatternHandler<Target>(actor: { actor }, inTask: { await handler($1) })
        try self.init(time, edge, longest, (service, tolerance, label, file, line), target, handler)
    }

    /// Calls a handler that is isolated to its target, an actor, and awaits: `{ store in await store.save() }`. One
    /// that awaits nothing says `async`: `{ store async in store.count += 1 }`. Otherwise like the first form.
    public convenience init<Target: Actor>(
        _ time: Duration,
        edge: BurstEdge? = nil,
        longest: Duration? = nil,
        on service: TimerService = .default,
        tolerance: Duration = .zero,
        label: String? = nil,
        file: StaticString = #fileID,
        line: UInt = #line,
        target: Target,
        handler: @escaping @Sendable (isolated Target) async -> Void
    ) throws(TimerError) {
        let handler = PatternHandler<Target>(actor: { [weak target] in target }, inTask: { await handler($1) })
        try self.init(time, edge, longest, (service, tolerance, label, file, line), target, handler)
    }

    private init<Target: AnyObject & Sendable>(
        _ time: Duration,
        _ edge: BurstEdge?,
        _ longest: Duration?,
        _ options: PatternOptions,
        _ target: Target,
        _ handler: PatternHandler<Target>
    ) throws(TimerError) {
        if time < .zero {
            throw TimerError(.invalidSchedule, "debouncing or throttling by \(time.text) (it must not be negative)")
        }
        if let longest, !Self.isDebounce || longest < time {
            let reason = Self.isDebounce ? "it must be at least the time" : "no call waits longer: leave it out"
            let attempted = "\(Self.isDebounce ? "debouncing" : "throttling") by \(time.text)"
            throw TimerError(.invalidSchedule, "\(attempted), for \(longest.text) at the longest (\(reason))")
        }
        let (edge, isDebounce) = (edge ?? (Self.isDebounce ? .trailing : .both), Self.isDebounce)
        state = Lock(State(limit: CallLimit(length: time, edge: edge, isDebounce: isDebounce, longest: longest)))
        service = options.service
        let timer = try handler.timers(options) { [weak self] in self?.comes($1) == true ? $0 : nil }(target)
        state.withLock { $0.timer = timer }
    }

    deinit { timer?.cancel() }

    /// The timer; nil in a forked child.
    var timer: PreciseTimer? { state.withLock(inForkedChild: nil) { $0.timer } }

    // MARK: Calls

    /// A call, of which the handler hears as its edge and its times say. Returns false if it does nothing, because the
    /// timer has ended: with its target, its bag or its service. Constant time.
    @discardableResult public final func callAsFunction() -> Bool {
        ask {
            $0.call(at: $1)
            return true
        }
    }

    /// Lets a call that waits for the trailing edge through, as soon as possible and through the normal path; behind
    /// the call at the leading edge, if that has not come yet. Returns false if no call waits, or if the target was
    /// released or the service has ended.
    @discardableResult public final func flush() -> Bool { ask { $0.flush(at: $1) } }

    /// Drops a call that waits. Returns false if no call waits, or if the target was released or the service has ended.
    /// The next call is the first of a burst.
    @discardableResult public final func cancel() -> Bool {
        let drops = state.withLock(inForkedChild: false) { $0.limit.cancel() }
        return drops && timer?.hasEnded == false
    }

    /// Lets a waiting call through at once, waits for the handler to return, and ends the timer: for the end of a
    /// program. Like `finish(within:)` of `PreciseTimer`, which describes the limit and the errors.
    public final func finish(within limit: Duration? = nil) async throws(TimerError) {
        try await timer?.finish(within: limit)
    }

    /// Lets the limit decide, and sets the timer. Returns its answer; false if the timer has ended.
    @discardableResult private func ask(_ decide: (inout CallLimit, TimerInstant) -> Bool) -> Bool {
        guard let timer, !timer.hasEnded, let now = service?.now else { return false }
        let (previous, answer, next) = state.withLock { ($0.limit.deadline, decide(&$0.limit, now), $0.limit.deadline) }
        if let next, next != previous, !set(timer, next), timer.hasEnded { return false }
        return answer
    }

    // MARK: Ticks

    /// Returns whether the handler must be called.
    private func comes(_ tick: PreciseTimer.Tick) -> Bool {
        // It may have ended since the tick came due, on the actor that the tick has just reached.
        guard let timer, !timer.hasEnded else { return false }
        // The last tick of a timer that is finished lets all calls through that wait.
        // `cancel()` takes the waiting call, and says whether there was one.
        if tick.isExtra { return cancel() }
        let now = service?.now ?? tick.delivered
        let (calls, next) = state.withLock { ($0.limit.tick(at: now), $0.limit.deadline) }
        guard let next else { return calls }
        if set(timer, next) || timer.hasEnded { return calls }
        // This is the last tick of a finished timer: see above.
        return cancel() || calls
    }

    /// Sets the timer to an instant that the limit has decided on, and then to the latest such instant: another thread
    /// may have decided on that one, and have set the timer before this thread does. Returns false if the timer takes
    /// no orders, because it has ended, with its target or its service, or is being finished.
    private func set(_ timer: PreciseTimer, _ instant: TimerInstant) -> Bool {
        var instant = instant
        while (try? timer.reschedule(.once(at: instant))) != nil {
            let latest = state.withLock(inForkedChild: nil) { $0.limit.deadline } ?? instant
            if latest == instant { return true }
            instant = latest
        }
        return false
    }
}

extension CallLimiter: TimerHolder {
    /// Its timer.
    public final var timers: [PreciseTimer] { timer.map { [$0] } ?? [] }

    /// Whether its timer has ended.
    public final var hasEnded: Bool { timer?.hasEnded ?? true }
}

extension CallLimiter: CustomStringConvertible, CustomReflectable {
    /// The timer that it sets, as in `debouncer of timer "save" (App/Editor.swift:12): scheduled`.
    public var description: String {
        "\(Self.isDebounce ? "debouncer" : "throttler")\(timer.map { " of \($0)" } ?? "")"
    }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Which calls of a burst call the handler of a ``Debouncer`` or a ``Throttler``.
public enum BurstEdge: Hashable, Sendable {
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
/// let save = try Debouncer(.milliseconds(300), deliver: .queue(queue), target: model) { $0.save() }
/// save()                                          // with each change
/// ```
///
/// Its type does not name the target's. A property that is made with `target: self` is `var save: Debouncer?`.
///
/// The time is how long no call must come before the burst is over. Without an edge, the last call of a burst calls the
/// handler (``BurstEdge/trailing``). With ``BurstEdge/trailing`` and ``BurstEdge/both`` the last call is never lost:
/// the handler is called after it, unless `cancel()` drops it, or the debouncer, its target or its service ends first.
///
/// Calls that never stop make a burst that never ends. With `longest: .seconds(5)` a call waits for 5 s at most: the
/// handler is called then, and the burst goes on. With ``BurstEdge/leading``, a burst ends after 5 s, and the next call
/// is the first one of another burst.
///
/// ``CallLimiter`` has the rest.
///
/// It is `@unchecked Sendable` as its superclass is, and adds no state.
public final class Debouncer: CallLimiter, @unchecked Sendable {}

/// Calls a handler at most once in a period, however often it is called itself.
///
/// ```swift
/// let draw = try Throttler(.milliseconds(16), target: model) { @MainActor model in model.refresh() }
/// draw()                                          // with each change
/// ```
///
/// The time is the least one between two calls of the handler. With ``BurstEdge/leading`` the first call goes through
/// at once, and further calls in the period after it are dropped. With ``BurstEdge/trailing`` one call goes through a
/// period after the first one. ``BurstEdge/both``, which holds if no edge is given, does the first, and the last call
/// of a period goes through at its end, which begins the next period. ``CallLimiter`` has the rest.
///
/// It is `@unchecked Sendable` as its superclass is, and adds no state.
public final class Throttler: CallLimiter, @unchecked Sendable {
    override class var isDebounce: Bool { false }
}
