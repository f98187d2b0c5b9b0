/// All timers that wait, in a queue for each power of two that their wake times are multiples of.
///
/// A timer with a tolerance leaves its queue later than at its deadline, at an instant that other timers share. One
/// queue by wake times would lose the order of deadlines among the timers that come out together, and one by deadlines
/// would have a timer in front that must not come out yet. Within a power of two, both orders are the same: a later
/// deadline has no earlier wake time. Nearly all services use one or two of the queues; an empty one takes 32 bytes.
@safe struct DeadlineQueues: ~Copyable {
    typealias Element = DeadlineQueue.Element

    /// The number of the queue of the timers that came due during a round, by their wake times. They wait for the next
    /// round. So do timers whose extra tick is due before the end of their tolerance.
    static var deferred: Int { 64 }

    /// The queue at n is of the timers whose wake times are multiples of 2^n; at 0, of those that come out at their
    /// deadlines.
    private let queues: UnsafeMutablePointer<DeadlineQueue>
    /// A bit for each queue that has had a timer, but not for the deferred ones.
    private var used: UInt64 = 0
    /// A bit for each of these queues whose first timer may have to come out in the present round.
    private var due: UInt64 = 0

    init() {
        unsafe queues = .allocate(capacity: Self.deferred + 1)
        for queue in 0...Self.deferred { unsafe (queues + queue).initialize(to: DeadlineQueue()) }
    }

    deinit {
        unsafe queues.deinitialize(count: Self.deferred + 1)
        unsafe queues.deallocate()
    }

    /// Queues a timer, which must be in no queue. O(log n).
    mutating func push(_ timer: TimerRecord, to queue: Int, at instant: UInt64) {
        timer.queue = UInt8(truncatingIfNeeded: queue)
        used |= 1 << UInt64(queue)
        due |= 1 << UInt64(queue)
        unsafe queues[queue].push(timer, at: instant)
    }

    /// Removes a timer from its queue. O(log n).
    func remove(_ timer: TimerRecord) { unsafe queues[Int(timer.queue)].remove(timer) }

    /// Moves a timer to a later deadline in its queue. O(log n).
    func postpone(_ timer: TimerRecord, to deadline: UInt64) {
        unsafe queues[Int(timer.queue)].postpone(timer, to: deadline)
    }

    /// Moves a timer to an earlier instant in its queue; a later one changes nothing. O(log n).
    func hasten(_ timer: TimerRecord, to instant: UInt64) {
        unsafe queues[Int(timer.queue)].hasten(timer, to: instant)
    }

    /// A timer's element. Constant time.
    func element(of timer: TimerRecord) -> Element {
        unsafe queues[Int(timer.queue)].elements[Int(timer.position)]
    }

    /// When a timer comes out of its queue. Constant time.
    func wakeTime(of timer: TimerRecord) -> UInt64 {
        let (queue, instant) = (Int(timer.queue), element(of: timer).nanoseconds)
        return queue == Self.deferred ? instant : instant.roundedUp(toBit: queue)
    }

    /// Whether the body accepts a queue that may have a timer. The others are left out: a debug build checks the queues
    /// after each change.
    private func anyQueue(_ accepts: (borrowing DeadlineQueue) -> Bool) -> Bool {
        var rest = used
        while rest != 0 {
            if unsafe accepts(queues[rest.trailingZeroBitCount]) { return true }
            rest &= rest &- 1
        }
        return unsafe accepts(queues[Self.deferred])
    }

    /// The number of timers. Constant time.
    var count: Int {
        var count = 0
        _ = anyQueue {
            count += $0.count
            return false
        }
        return count
    }

    /// The first element of a queue. Constant time.
    func first(of queue: Int) -> Element? { unsafe queues[queue].first }

    /// The queue whose first timer comes out first, and when; `.max` if no timer waits. Constant time.
    var next: (queue: Int, wakeTime: UInt64) {
        var next = unsafe (queue: Self.deferred, wakeTime: queues[Self.deferred].firstInstant)
        var rest = used
        while rest != 0 {
            let queue = rest.trailingZeroBitCount
            rest &= rest &- 1
            let wakeTime = unsafe queues[queue].firstInstant.roundedUp(toBit: queue)
            if wakeTime < next.wakeTime { next = (queue, wakeTime) }
        }
        return next
    }

    /// Begins a round.
    mutating func beginRound() { due = used }

    /// Of the timers that come out by the instant of the present round, the one with the earliest deadline. The
    /// deferred ones are left out. Constant time.
    mutating func first(by instant: UInt64) -> Element? {
        var (first, rest) = (Element?.none, due)
        while rest != 0 {
            let queue = rest.trailingZeroBitCount
            rest &= rest &- 1
            guard let other = unsafe queues[queue].first, other.nanoseconds.roundedUp(toBit: queue) <= instant else {
                due &= ~(1 &<< UInt64(queue))
                continue
            }
            if first.map({ other.precedes($0) }) ?? true { first = other }
        }
        return first
    }

    /// Whether one of the timers whose deadlines come by an instant has a property. O(n) for n of them.
    func contains(by instant: UInt64, where has: (TimerRecord) -> Bool) -> Bool {
        anyQueue { $0.contains(by: instant, where: has) }
    }

    /// A description of the first broken invariant, or nil. O(n).
    var brokenInvariant: String? {
        var broken: String?
        _ = anyQueue {
            broken = $0.brokenInvariant
            return broken != nil
        }
        return broken
    }
}
