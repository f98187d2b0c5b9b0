internal import PreciseTimer

/// Decides which calls of a debounced or throttled handler go through, and when. A pure value, which knows no lock and
/// no timer: ``deadline`` says when the timer must tick.
struct CallLimit {
    enum Phase {
        /// No call is waiting, and the next one opens a window.
        case rests
        /// The call at the leading edge is on its way.
        case leads
        /// The window is open.
        case isOpen
    }

    let length: Duration
    let edge: BurstEdge
    /// Whether each call makes the window longer.
    let isDebounce: Bool
    /// How long a call waits at most, and a window of the leading edge stays open; nil for any time.
    let longest: Duration?

    /// When the timer must tick; nil if it may rest. A tick that comes earlier does no harm.
    private(set) var deadline: TimerInstant?
    private(set) var phase = Phase.rests
    /// When the window closes if no further call comes.
    private(set) var end = TimerInstant(nanoseconds: 0)
    /// When the longest wait is over; nil if no call waits, or if there is no longest wait.
    private(set) var limit: TimerInstant?
    /// Whether a call waits for the trailing edge.
    private(set) var isCallWaiting = false
    /// Whether the window closes with the next tick.
    private(set) var isFlushed = false

    /// When the window closes, or the longest wait is over.
    private var next: TimerInstant { min(end, limit ?? end) }

    /// A call.
    mutating func call(at now: TimerInstant) {
        let opens = phase == .rests
        if opens {
            phase = edge == .trailing ? .isOpen : .leads
            end = now.advanced(by: length)
        } else if isDebounce {
            // The clock may have been read by two threads in another order than they come here.
            end = max(end, now.advanced(by: length))
        }
        isCallWaiting = edge == .trailing || edge == .both && !opens
        if let longest, limit == nil, isCallWaiting || edge == .leading { limit = now.advanced(by: longest) }
        if opens { deadline = phase == .leads ? now : next }
    }

    /// A tick. Returns whether the handler must be called.
    mutating func tick(at now: TimerInstant) -> Bool {
        switch phase {
        case .rests: return false
        case .leads:
            phase = .isOpen
            // From the handler's call on, however late it is.
            if !isDebounce { end = now.advanced(by: length) }
            deadline = isFlushed ? now : next
            return true
        case .isOpen where now < next && !isFlushed:
            deadline = next
            return false
        case .isOpen:
            defer { (isCallWaiting, isFlushed, limit) = (false, false, nil) }
            if isCallWaiting, edge == .both, !isDebounce {
                end = now.advanced(by: length)
                deadline = end
            } else if isCallWaiting, now < end, !isFlushed {
                // The longest wait is over, and the burst is not: the next call is not its first one.
                deadline = end
            } else {
                (phase, deadline) = (.rests, nil)
            }
            return isCallWaiting
        }
    }

    /// Closes the window, behind the call at the leading edge, if a call waits. Returns false if no call waits.
    mutating func flush(at now: TimerInstant) -> Bool {
        if isCallWaiting {
            isFlushed = true
            deadline = min(deadline ?? now, now)
        }
        return isCallWaiting
    }

    /// Forgets calls that wait, and the window. Returns whether a call was waiting.
    mutating func cancel() -> Bool {
        defer { self = CallLimit(length: length, edge: edge, isDebounce: isDebounce, longest: longest) }
        return isCallWaiting || phase == .leads
    }
}
