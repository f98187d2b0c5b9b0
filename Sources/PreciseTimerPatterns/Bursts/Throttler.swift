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
