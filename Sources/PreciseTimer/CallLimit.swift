internal import TimerKernel

/// Decides which calls of a debounced or throttled handler go through, and when. A pure value, which knows no lock and
/// no timer: each method returns what to do.
struct CallLimit {
    private enum Phase {
        /// No call is waiting, and the next one opens a window.
        case rests
        /// The call at the leading edge is on its way.
        case leads
        /// The window is open.
        case isOpen
    }

    let length: Duration
    let edge: PreciseTimer.Edge
    /// Whether each call makes the window longer.
    let isDebounce: Bool

    private var phase = Phase.rests
    /// When the window closes.
    private var end = TimerInstant(nanoseconds: 0)
    /// Whether a call waits for the trailing edge.
    private(set) var isCallWaiting = false

    init(_ length: Duration, _ edge: PreciseTimer.Edge, isDebounce: Bool) {
        self.length = length
        self.edge = edge
        self.isDebounce = isDebounce
    }

    /// A call. Returns when the timer must tick; nil if it is set already.
    mutating func call(at now: TimerInstant) -> TimerInstant? {
        if phase != .rests {
            isCallWaiting = edge != .leading
            // The clock may have been read by two threads in another order than they come here.
            if isDebounce { end = max(end, now.advanced(by: length)) }
            return nil
        }
        end = now.advanced(by: length)
        phase = edge == .trailing ? .isOpen : .leads
        isCallWaiting = edge == .trailing
        return edge == .trailing ? end : now
    }

    /// A tick. Returns whether the handler must be called, and when the timer must tick again; nil if it may rest.
    mutating func tick(at now: TimerInstant) -> (calls: Bool, next: TimerInstant?) {
        switch phase {
        case .rests: return (false, nil)
        case .leads:
            phase = .isOpen
            // From the handler's call on, however late it is.
            if !isDebounce { end = now.advanced(by: length) }
            return (true, end)
        case .isOpen where now < end: return (false, end)
        case .isOpen:
            let calls = isCallWaiting
            isCallWaiting = false
            if calls, edge == .both, !isDebounce {
                end = now.advanced(by: length)
                return (true, end)
            }
            phase = .rests
            return (calls, nil)
        }
    }

    /// Closes the window if a call waits. Returns when the timer must tick; nil if no call waits.
    mutating func flush(at now: TimerInstant) -> TimerInstant? {
        guard isCallWaiting, phase == .isOpen else { return nil }
        end = now
        return now
    }

    /// Forgets calls that wait, and the window. Returns whether a call was waiting.
    mutating func cancel() -> Bool {
        defer { (phase, isCallWaiting) = (.rests, false) }
        return isCallWaiting || phase == .leads
    }
}
