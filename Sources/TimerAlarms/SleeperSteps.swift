internal import TimerKernel

/// The steps of a thread that sleeps until a deadline, or spins before it, and of the threads that set and stop it.
///
/// Only the thread sets the kernel's timer, before it sleeps. Another thread that sets an earlier deadline while this
/// thread sleeps shortens the sleep, too. In all other cases setting the alarm is no more than storing a number.
///
/// The steps know neither the memory nor the kernel, so that `SleeperTests` takes every order of these very steps: each
/// `try` of a requirement is a step, before which the model can let another thread go on.
package protocol SleeperSteps {
    /// `TimerError`, except in the model.
    associatedtype Failure: Error

    // The numbers that the threads share. All these are sequentially consistent. A setter stores the deadline and then
    // reads `wakesBy`; the thread stores `wakesBy` and then reads the deadline. With release and acquire both could
    // read the old values, and the wake-up would be lost.

    /// The deadline in nanoseconds; the greatest number if there is no deadline.
    func readDeadline() throws(Failure) -> UInt64
    func store(deadline: UInt64) throws(Failure)
    /// Changes this deadline to none. Returns false if it was replaced.
    func useUp(_ deadline: UInt64) throws(Failure) -> Bool
    /// While the thread sleeps, when it will wake at the latest. 0 while it is awake: it then reads the deadline again
    /// before it sleeps.
    func readWakesBy() throws(Failure) -> UInt64
    func store(wakesBy: UInt64) throws(Failure)
    func readIsStopped() throws(Failure) -> Bool
    func storeIsStopped() throws(Failure)

    // The kernel: ``ThreadTimer``.

    func readClock() throws(Failure) -> UInt64
    /// Sets the timer for the calling thread's sleep.
    func setTimer(_ instant: UInt64) throws(Failure)
    func sleepInKernel(until instant: UInt64) throws(Failure)
    /// Lets the sleep of the alarm's thread end at an earlier instant.
    func shortenSleep(to instant: UInt64) throws(Failure)
    /// Ends the sleep of the alarm's thread, which begins again.
    func wake() throws(Failure)

    // The spin, which an alarm that only sleeps does not have: ``Spinner``.

    /// How long before a deadline the thread wakes, to spin from then on.
    func decideMargin(before deadline: UInt64) throws(Failure) -> UInt64
    /// The margin that was decided on last.
    func readLastMargin() throws(Failure) -> UInt64
    /// How long before a deadline the thread fires.
    var lead: UInt64 { get }
    /// The thread has spun, and fires for a deadline.
    func fires(for deadline: UInt64, at now: UInt64)
    func learn(from wait: SpinPlan.Wait)
}

extension SleeperSteps {
    // MARK: The thread

    /// Waits for the deadline, and fires if it has come. Returns false if the alarm is stopped.
    @inline(__always) package func waitAndFire(
        _ gaps: inout ShortGaps,
        _ fire: () throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        if try readIsStopped() { return false }
        let next = try readDeadline()
        let (hasCome, wait) = try wait(for: next, &gaps, fire)
        // The firing uses the deadline up, unless it was replaced in the meantime.
        if hasCome, try useUp(next), try !readIsStopped() { try fire() }
        learn(from: wait)
        return true
    }

    /// Waits until a deadline or, if it spins, until ``lead`` before it. Returns false if the thread must begin again:
    /// the deadline was replaced, the clock was set back, or a minute has passed. If the process closes the descriptor
    /// from outside, a sleeping thread is not woken; its next sleep finds out.
    private func wait(
        for next: UInt64,
        _ gaps: inout ShortGaps,
        _ fire: () throws(Failure) -> Void
    ) throws(Failure) -> (hasCome: Bool, SpinPlan.Wait) {
        let now = try readClock()
        if now >= next { return (true, SpinPlan.Wait(woke: now)) }
        let gap = next - now
        let choice = gap > ShortGaps.longest ? .sleep : gaps.choice(for: gap, at: now)
        if choice == .stayAwake { return try stayAwake(until: next, from: now, &gaps) }
        return try sleepAndSpin(until: next, from: now, measures: choice == .measureSleep, &gaps, fire)
    }

    /// Reads the clock until a deadline. The budget of short gaps pays for it, not the spinner's.
    private func stayAwake(
        until next: UInt64,
        from now: UInt64,
        _ gaps: inout ShortGaps
    ) throws(Failure) -> (hasCome: Bool, SpinPlan.Wait) {
        var wait = SpinPlan.Wait(woke: now)
        let hasCome = try spin(until: next, from: now, &wait)
        // If the host stood still, that time does not count.
        gaps.pay(min(wait.end - min(now, wait.end), next - now), at: wait.end)
        return (hasCome, SpinPlan.Wait(woke: wait.end))
    }

    /// Sleeps until the margin before a deadline begins, and spins in it.
    private func sleepAndSpin(
        until next: UInt64,
        from now: UInt64,
        measures: Bool,
        _ gaps: inout ShortGaps,
        _ fire: () throws(Failure) -> Void
    ) throws(Failure) -> (hasCome: Bool, SpinPlan.Wait) {
        var wait = SpinPlan.Wait(woke: now)
        let marginBegins = next == .max ? .max : next - min(try decideMargin(before: next), next)
        let alarm = min(marginBegins, now + minute)
        if now < alarm {
            let before = measures ? Thread.processorTime : nil
            guard try sleep(until: alarm, for: next) else { return (false, wait) }
            if let before, let after = Thread.processorTime { gaps.learn(price: after - before) }
            wait = SpinPlan.Wait(alarm: alarm, woke: try readClock())
        }
        guard wait.woke >= marginBegins else { return (false, wait) }
        if wait.woke >= next { return (true, wait) }
        // A firing that finds nothing due fetches what the next one needs into the processor's caches.
        if try isStillWaiting(for: next) { try fire() }
        return (try spin(until: next, from: marginBegins, &wait), wait)
    }

    /// Sleeps until an instant, or until another thread sets an earlier deadline or stops the alarm. Returns false if
    /// one of the two happened before the sleep.
    private func sleep(until alarm: UInt64, for next: UInt64) throws(Failure) -> Bool {
        try setTimer(alarm)
        // From here on, other threads wake this one. Their earlier changes are seen now.
        try store(wakesBy: alarm)
        let sleeps = try isStillWaiting(for: next)
        if sleeps { try sleepInKernel(until: alarm) }
        try store(wakesBy: 0)
        return sleeps
    }

    /// Reads the clock until ``lead`` before a deadline. Returns false if the thread must begin again, also because the
    /// clock was set back to before the beginning of the spin.
    private func spin(until next: UInt64, from start: UInt64, _ wait: inout SpinPlan.Wait) throws(Failure) -> Bool {
        let early = max(start, next - min(lead, next))
        while wait.end < early {
            guard try isStillWaiting(for: next), wait.end >= start else { return false }
            wait.end = try readClock()
        }
        fires(for: next, at: wait.end)
        // The service waits for the rest.
        wait.end = max(wait.end, next)
        return true
    }

    private func isStillWaiting(for next: UInt64) throws(Failure) -> Bool {
        guard try readDeadline() == next else { return false }
        return try !readIsStopped()
    }

    // MARK: Other threads

    package func set(to next: UInt64) throws(Failure) {
        try store(deadline: next)
        // A sleeping thread that wakes early enough, or even too early, begins again and sleeps on.
        let wakesBy = try readWakesBy()
        let alarm = next - min(next, try readLastMargin())
        guard alarm < wakesBy else { return }
        try shortenSleep(to: alarm)
        // This may have undone the wake-up of a concurrent stop. Or the thread has woken, and sleeps again
        // until an earlier instant, which this has replaced.
        var isUndone = try readWakesBy() != wakesBy
        if !isUndone { isUndone = try readIsStopped() }
        if isUndone { try wake() }
    }

    /// The kernel's lock on its timer orders the settings and what comes before and after them: the wake-up is the last
    /// setting, or the thread or the setter that undid it sees that the alarm is stopped.
    package func stopAndWake() throws(Failure) {
        try storeIsStopped()
        try wake()
    }
}

/// In nanoseconds.
private let minute: UInt64 = 60_000_000_000

/// Decides whether a thread stays awake for a deadline that is near, because a sleep would cost more. A pure value: it
/// learns what happened, and knows no clock and no thread. Instants and lengths are in nanoseconds.
///
/// A sleep costs processor time: the timer is set, the thread leaves its processor and gets it back. This price is
/// learned from every sixteenth short sleep. A gap of up to two fifths of it is not slept. (With a half, ten thousand
/// timers took 4 % more of a processor and were hardly nearer; with a third, they were three times as late.) A budget
/// bounds the time that is spent so, since a thread that never sleeps keeps others from its processor.
package struct ShortGaps: Sendable {
    /// What the thread does with a short gap.
    package enum Choice: Sendable {
        /// It reads the clock until the deadline.
        case stayAwake
        case sleep
        /// It sleeps, and tells the processor time that this took.
        case measureSleep
    }

    /// A gap that is longer is no short one. A sleep would end with cold caches, and says little of a short one.
    package static var longest: UInt64 { 100_000 }
    /// The longest gap for which a thread ever stays awake.
    package static var bound: UInt64 { 25_000 }
    /// The share of one core that may be spent so in any second. Together with a spinner's budget it is at most 0.9,
    /// since the kernel stops real-time threads at 0.95.
    package static var share: Double { 0.7 }
    private static var shareOfAll: Double { 0.9 }
    private static var measuredOnceIn: UInt64 { 16 }

    /// The longest gap for which the thread stays awake: 0 before the first sleep was measured.
    package private(set) var worthwhile: UInt64 = 0
    private var price: UInt64?
    private var sleeps: UInt64 = 0
    private var budget: SpinBudget

    /// For a thread that always sleeps.
    package static var none: ShortGaps { ShortGaps(beside: 1) }

    /// - Parameter other: the share of the core that the thread may spin anyway.
    package init(beside other: Double = 0) {
        budget = SpinBudget(share: max(min(Self.share, Self.shareOfAll - other), 0), maximum: Self.bound)
    }

    /// The longest time that the thread stays awake because of this.
    package var longestStretch: UInt64 { budget.longest }

    /// Decides on a gap that begins now.
    package mutating func choice(for gap: UInt64, at now: UInt64) -> Choice {
        if gap <= worthwhile, gap <= budget.allowance(at: now) { return .stayAwake }
        guard gap <= Self.longest else { return .sleep }
        defer { sleeps &+= 1 }
        return sleeps.isMultiple(of: Self.measuredOnceIn) ? .measureSleep : .sleep
    }

    /// Pays for a gap that ended at an instant.
    package mutating func pay(_ length: UInt64, at instant: UInt64) { budget.pay(length, at: instant) }

    /// Learns the processor time that a sleep has taken. The price follows the last eight or so.
    package mutating func learn(price sample: UInt64) {
        let sample = min(sample, 4 * Self.bound)
        let price = price.map { ($0 * 7 + sample) / 8 } ?? sample
        self.price = price
        worthwhile = min(price * 2 / 5, Self.bound)
    }
}
