/// Which calls of a burst call the handler of a ``Debouncer`` or a ``Throttler``.
public enum BurstEdge: Hashable, Sendable {
    /// The first call, at once.
    case leading
    /// The last call, at the end.
    case trailing
    /// The first call at once and, if more calls follow, the last one at the end.
    case both
}
