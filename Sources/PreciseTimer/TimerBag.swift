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
///
/// May be used from any thread, and from inside a handler. In a forked child, the parent's bag is empty and accepts
/// no timers. ``count``, and occasionally `store`, read the ``PreciseTimer/state`` of every timer in the bag, so a
/// timer whose target was released may end there and call its `onEnd`.
public final class TimerBag: Sendable {
    /// A timer with its name, which must not be released under the lock either.
    private struct Named {
        let name: any Hashable & Sendable
        let timer: PreciseTimer
    }

    private struct State {
        var named: [AnyHashable: Named] = [:]
        var unnamed: [PreciseTimer] = []
        /// The number of timers at which ended timers are removed next.
        var limit = 16

        var size: Int { named.count + unnamed.count }
        var timers: [PreciseTimer] { unnamed + named.values.map(\.timer) }

        mutating func remove(_ ended: Set<ObjectIdentifier>) {
            unnamed.removeAll { ended.contains(ObjectIdentifier($0)) }
            named = named.filter { !ended.contains(ObjectIdentifier($0.value.timer)) }
            limit = Swift.max(16, size * 2)
        }
    }

    private let state = Lock(State())

    /// An empty bag.
    public init() {}

    deinit { cancelAll() }

    /// The number of timers in the bag that have not ended. O(n).
    public var count: Int {
        let timers = state.withLock(inForkedChild: []) { $0.timers }
        return timers.count { !$0.hasEnded }
    }

    /// The number of timers, with ended ones.
    var size: Int { state.withLock(inForkedChild: 0) { $0.size } }

    /// The timer of that name; nil if there is no such timer, or it has ended.
    public subscript(name: some Hashable & Sendable) -> PreciseTimer? {
        let timer = state.withLock(inForkedChild: nil) { $0.named[name]?.timer }
        return timer.flatMap { $0.hasEnded ? nil : $0 }
    }

    /// Cancels the timer of that name and removes it. Returns true if that ended a timer.
    @discardableResult
    public func cancel(_ name: some Hashable & Sendable) -> Bool {
        let removed = state.withLock(inForkedChild: nil) { $0.named.removeValue(forKey: name) }
        return removed?.timer.cancel() ?? false
    }

    /// Cancels all timers and removes them.
    public func cancelAll() { for timer in removeAll() { timer.cancel() } }

    /// Cancels all timers and removes them, and waits for their handlers that are running. It does not wait for timers
    /// that were removed before. From inside a handler it does not wait for that handler.
    public func cancelAllAndWait() async {
        let timers = removeAll()
        for timer in timers { timer.cancel() }
        for timer in timers { await timer.cancelAndWait() }
    }

    func removeAll() -> [PreciseTimer] {
        let removed: State? = state.withLock(inForkedChild: nil) { state in
            defer { state = State() }
            return state
        }
        return removed?.timers ?? []
    }

    /// Adds a timer. If another timer has its name, that timer is removed and cancelled.
    fileprivate func insert(_ timer: PreciseTimer, named name: (any Hashable & Sendable)?) {
        if state.isOfAnotherProcess { return }
        let replaced: Named? = state.withLock { state in
            guard let name else {
                state.unnamed.append(timer)
                return nil
            }
            defer { state.named[AnyHashable(name)] = Named(name: name, timer: timer) }
            return state.named.removeValue(forKey: AnyHashable(name))
        }
        if let replaced, replaced.timer !== timer { replaced.timer.cancel() }
        letEndedOnesGo()
    }

    /// Removes ended timers when the bag has doubled, so that a bag of single-deadline timers does not grow for ever.
    /// The timers are asked and released outside the lock. They are held until then, because an `ObjectIdentifier` is
    /// unique only while its object lives.
    private func letEndedOnesGo() {
        let full: State? = state.withLock(inForkedChild: nil) { $0.size >= $0.limit ? $0 : nil }
        guard let full else { return }
        withExtendedLifetime(full) {
            let ended = Set(full.timers.filter(\.hasEnded).map(ObjectIdentifier.init))
            state.withLock { $0.remove(ended) }
        }
    }
}

extension PreciseTimer {
    /// Puts the timer into a bag, which cancels the timer when the bag is released.
    ///
    /// - Parameters:
    ///   - bag: the bag that holds the timer.
    ///   - name: a name; another timer in the bag with that name is removed and cancelled.
    /// - Returns: the timer.
    @discardableResult
    public func store(in bag: TimerBag, named name: (any Hashable & Sendable)? = nil) -> PreciseTimer {
        bag.insert(self, named: name)
        return self
    }

    /// Whether the timer has ended. A released target ends it here.
    var hasEnded: Bool {
        if case .ended = state { true } else { false }
    }
}
