internal import TimerAlarms
internal import TimerKernel

/// Holds timers, and cancels them when it is released.
///
/// ```swift
/// final class Screen {
///     private let timers = TimerBag()
///
///     func show() throws {
///         try PreciseTimer.schedule(.every(.seconds(1))) { _, _ in … }.store(in: timers)
///         try PreciseTimer.schedule(.once(after: .seconds(5))) { _, _ in … }.store(in: timers, named: "hint")
///     }
/// }
/// ```
///
/// A name is any value that is `Hashable` and `Sendable`: a string, an enum, or the identifier of a connection.
/// Whatever has timers can be in a bag (``TimerHolder``).
///
/// May be used from any thread, and from inside a handler. `==` and `hash(into:)` of the names are called under the
/// bag's lock: if they use the bag, the process ends. In a forked child, the parent's bag is empty and accepts
/// nothing.
public final class TimerBag: Sendable, CustomStringConvertible, CustomReflectable {
    /// A member with its name, which must not be released under the lock either.
    private struct Named {
        let name: any Hashable & Sendable
        let member: any TimerHolder
    }

    private struct State {
        var named: [AnyHashable: Named] = [:]
        var unnamed: [any TimerHolder] = []
        /// The number of members at which ended ones are removed next.
        var limit = 16

        var size: Int { named.count + unnamed.count }
        var members: [any TimerHolder] { unnamed + named.values.map(\.member) }

        mutating func remove(_ ended: Set<ObjectIdentifier>) {
            unnamed.removeAll { ended.contains(ObjectIdentifier($0)) }
            named = named.filter { !ended.contains(ObjectIdentifier($0.value.member)) }
            limit = Swift.max(16, size * 2)
        }
    }

    private let state = Lock(State())

    /// An empty bag.
    public init() {}

    deinit { cancelAll() }

    /// The number of members of the bag that have not ended. O(n).
    public var count: Int {
        let members = state.withLock(inForkedChild: []) { $0.members }
        return members.count { !$0.hasEnded }
    }

    /// The number of timers, with those that have ended and were not removed yet.
    public var description: String { "bag of " + counted(state.withLock(inForkedChild: 0) { $0.size }, "timer") }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The timer of that name; nil if there is no such timer, or it has ended. A debouncer or another pattern is no
    /// timer, so its name yields nil: keep the pattern itself, and end it with ``cancel(_:)``.
    public subscript(name: some Hashable & Sendable) -> PreciseTimer? {
        let timer = state.withLock(inForkedChild: nil) { $0.named[name]?.member } as? PreciseTimer
        return timer.flatMap { $0.hasEnded ? nil : $0 }
    }

    /// Cancels the holder of that name and removes it. Returns true if that ended a timer.
    @discardableResult public func cancel(_ name: some Hashable & Sendable) -> Bool {
        let removed = state.withLock(inForkedChild: nil) { $0.named.removeValue(forKey: name) }
        return removed?.member.timers.filter { $0.cancel() }.isEmpty == false
    }

    /// Cancels all timers and removes all members.
    public func cancelAll() { for timer in removeAll().flatMap(\.timers) { timer.cancel() } }

    package func removeAll() -> [any TimerHolder] {
        let removed: State? = state.withLock(inForkedChild: nil) { state in
            defer { state = State() }
            return state
        }
        return removed?.members ?? []
    }

    /// Adds a member. If another one has its name, that one is removed, and its timers are cancelled.
    func insert(_ member: any TimerHolder, named name: (any Hashable & Sendable)?) {
        let replaced: Named? = state.withLock(inForkedChild: nil) { state in
            guard let name else {
                state.unnamed.append(member)
                return nil
            }
            defer { state.named[AnyHashable(name)] = Named(name: name, member: member) }
            return state.named.removeValue(forKey: AnyHashable(name))
        }
        if let replaced, replaced.member !== member { for timer in replaced.member.timers { timer.cancel() } }
        letEndedOnesGo()
    }

    /// Removes ended members when the bag has doubled, so that a bag of single-deadline timers does not grow for ever.
    /// The members are asked and released outside the lock. They are held until then, because an `ObjectIdentifier` is
    /// unique only while its object lives.
    private func letEndedOnesGo() {
        let full: State? = state.withLock(inForkedChild: nil) { $0.size >= $0.limit ? $0 : nil }
        guard let full else { return }
        withExtendedLifetime(full) {
            let ended = Set(full.members.filter(\.hasEnded).map(ObjectIdentifier.init))
            state.withLock { $0.remove(ended) }
        }
    }
}

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
    ///   - name: a name; the holder of that name in the bag is removed, and its timers are cancelled.
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
