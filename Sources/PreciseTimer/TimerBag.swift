internal import TimerAlarms

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
/// May be used from any thread, and from inside a handler. In a forked child, a bag of the parent is empty and takes no
/// timers. To count the timers, and now and then to store one, asks for the
/// ``PreciseTimer/state`` of the others, and so may hear the end of one whose target is gone.
public final class TimerBag: Sendable {
    private struct State {
        var named: [String: PreciseTimer] = [:]
        var unnamed: [PreciseTimer] = []
        /// At how many timers those that have ended are next looked for.
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

    /// How many timers the bag holds that have not ended. O(n).
    public var count: Int {
        let timers = state.withLock(inForkedChild: []) { $0.timers }
        return timers.count { !$0.hasEnded }
    }

    /// The timer of a name; nil where there is none, or it has ended.
    public subscript(name: String) -> PreciseTimer? {
        guard let timer = state.withLock(inForkedChild: nil, { $0.named[name] }), !timer.hasEnded else { return nil }
        return timer
    }

    /// Cancels the timer of a name and lets it go. True where that ended a timer.
    @discardableResult
    public func cancel(_ name: String) -> Bool {
        let timer = state.withLock(inForkedChild: nil) { $0.named.removeValue(forKey: name) }
        return timer?.cancel() ?? false
    }

    /// Cancels all timers and lets them go.
    public func cancelAll() {
        let timers: [PreciseTimer] = state.withLock(inForkedChild: []) { state in
            let timers = state.timers
            state = State()
            return timers
        }
        for timer in timers { timer.cancel() }
    }

    /// Takes a timer in; one that has its name is replaced and cancelled.
    fileprivate func insert(_ timer: PreciseTimer, named name: String?) {
        let replaced: PreciseTimer? = state.withLock(inForkedChild: timer) { state in
            if let name { return state.named.updateValue(timer, forKey: name) }
            state.unnamed.append(timer)
            return nil
        }
        if replaced !== timer { replaced?.cancel() }
        letEndedOnesGo()
    }

    /// Now and then, so that a bag that is used for single deadlines does not grow for ever. The timers are asked and
    /// released outside of the lock, and held until then: what they are told by is unique only while they live.
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
    /// Puts the timer into a bag, which cancels it when the bag is released.
    ///
    /// - Parameters:
    ///   - bag: where the timer is held.
    ///   - name: a name; the timer that had it is cancelled.
    /// - Returns: the timer.
    @discardableResult
    public func store(in bag: TimerBag, named name: String? = nil) -> PreciseTimer {
        bag.insert(self, named: name)
        return self
    }

    /// Whether the timer has ended, a target that is gone included.
    fileprivate var hasEnded: Bool {
        if case .ended = state { true } else { false }
    }
}
