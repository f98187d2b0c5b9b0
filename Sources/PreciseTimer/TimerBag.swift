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
/// May be used from any thread, and from inside a handler. In a forked child, the parent's bag is empty and accepts
/// no timers. ``count``, and occasionally `store`, read the ``PreciseTimer/state`` of every timer in the bag, so a
/// timer whose target was released may end there and call its `onEnd`.
public final class TimerBag: Sendable {
    private struct State {
        var named: [String: PreciseTimer] = [:]
        var unnamed: [PreciseTimer] = []
        /// The number of timers at which ended timers are removed next.
        var limit = 16

        var size: Int { named.count + unnamed.count }
        var timers: [PreciseTimer] { unnamed + Array(named.values) }

        mutating func remove(_ ended: Set<ObjectIdentifier>) {
            unnamed.removeAll { ended.contains(ObjectIdentifier($0)) }
            named = named.filter { !ended.contains(ObjectIdentifier($0.value)) }
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
    public subscript(name: String) -> PreciseTimer? {
        guard let timer = state.withLock(inForkedChild: nil, { $0.named[name] }), !timer.hasEnded else { return nil }
        return timer
    }

    /// Cancels the timer of that name and removes it. Returns true if that ended a timer.
    @discardableResult
    public func cancel(_ name: String) -> Bool {
        let timer = state.withLock(inForkedChild: nil) { $0.named.removeValue(forKey: name) }
        return timer?.cancel() ?? false
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
        state.withLock(inForkedChild: []) { state in
            let timers = state.timers
            state = State()
            return timers
        }
    }

    /// Adds a timer. If another timer has its name, that timer is removed and cancelled.
    fileprivate func insert(_ timer: PreciseTimer, named name: String?) {
        let replaced: PreciseTimer? = state.withLock(inForkedChild: timer) { state in
            if let name { return state.named.updateValue(timer, forKey: name) }
            state.unnamed.append(timer)
            return nil
        }
        if replaced !== timer { replaced?.cancel() }
        letEndedOnesGo()
    }

    /// Removes ended timers when the bag has doubled, so that a bag of single-deadline timers does not grow for ever.
    /// The timers are asked and released outside the lock. They are held until then, because an `ObjectIdentifier` is
    /// unique only while its object lives.
    private func letEndedOnesGo() {
        let timers = state.withLock(inForkedChild: []) { $0.size >= $0.limit ? $0.timers : [] }
        if timers.isEmpty { return }
        withExtendedLifetime(timers) {
            let ended = Set(timers.filter(\.hasEnded).map(ObjectIdentifier.init))
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
    public func store(in bag: TimerBag, named name: String? = nil) -> PreciseTimer {
        bag.insert(self, named: name)
        return self
    }

    /// Whether the timer has ended. A released target ends it here.
    fileprivate var hasEnded: Bool {
        if case .ended = state { true } else { false }
    }
}
