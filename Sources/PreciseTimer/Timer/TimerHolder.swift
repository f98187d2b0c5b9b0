/// An object with timers that a ``TimerBag`` can hold, and that end together: a timer itself, and the patterns that are
/// made of timers. Your own types may conform, too.
public protocol TimerHolder: AnyObject, Sendable {
    /// The timers to end: those that have not ended, and those whose last handler is running. Others may be among them.
    /// Asked without a lock, from any thread.
    var timers: [PreciseTimer] { get }

    /// Whether it will have no timers any more. A bag then lets it go.
    var hasEnded: Bool { get }
}

extension TimerHolder {
    /// Puts it into a bag, which cancels its timers when the bag is released.
    ///
    /// - Parameters:
    ///   - bag: the bag that holds it.
    ///   - name: a name; what has that name in the bag is removed, and its timers are cancelled.
    /// - Returns: itself.
    @discardableResult public func store(in bag: TimerBag, named name: (any Hashable & Sendable)? = nil) -> Self {
        bag.insert(self, named: name)
        return self
    }
}

extension PreciseTimer: TimerHolder {
    /// The timer alone.
    public var timers: [PreciseTimer] { [self] }

    /// Whether the timer has ended; also true if its target has been released. See ``state``.
    public var hasEnded: Bool { if case .ended = state { true } else { false } }
}
