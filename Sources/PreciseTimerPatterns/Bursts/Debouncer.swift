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
