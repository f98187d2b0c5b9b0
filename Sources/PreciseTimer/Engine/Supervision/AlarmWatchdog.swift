internal import TimerKernel

/// Tells a silent alarm from a late one, from checks about a second apart. A pure value.
///
/// Checks are counted, because a process that stood still has had no chance to fire. Time is measured, because checks
/// may come faster than they should.
package struct AlarmWatchdog: Sendable {
    /// How many further checks must find the alarm overdue for the same instant.
    private static var checks: Int { 5 }
    /// How much time must have passed between the first and the last of them, in nanoseconds. Checks come at whole
    /// seconds, give or take a little.
    private static var length: UInt64 { 4_500_000_000 }
    /// The same if the system does not say whether something holds the alarm up: a minute.
    private static var doubtfulChecks: Int { 60 }
    private static var doubtfulLength: UInt64 { 59_500_000_000 }
    /// How long an alarm may fire only because it is set anew, and how much time may be between two such findings.
    private static var patience: UInt64 { 60_000_000_000 }
    private static var pause: UInt64 { 3_500_000_000 }
    /// The processor time with which a thread could have fired within a second, in nanoseconds.
    private static var enough: UInt64 { 50_000_000 }

    /// The instant for which the alarm was overdue at the last check.
    package private(set) var overdue: UInt64?
    /// When a check first found that.
    private var since: UInt64 = 0
    private var count = 0
    /// When the alarm was late for the last time, and for the first of those times that followed each other closely.
    private var late: (last: UInt64, first: UInt64)?
    /// The processor time of the alarm's thread, when it was last told.
    private var ran: UInt64?
    /// The same of Dispatch's threads, by their numbers, and when that was.
    private var workers: (at: UInt64, ran: [String: UInt64])?
    /// When something was last known to hold the alarm up, and at which check.
    private var heldUp: (at: UInt64, check: Int) = (0, 0)

    package init() {}

    /// What a check has found.
    package enum Finding: Hashable, Sendable {
        /// The alarm is on time, or was found overdue for the first time.
        case onTime
        /// It is overdue for this instant, and is to be set anew: the kernel's timer may have been lost, or may wait on
        /// a processor that is kept busy or that the host does not run. A timer is on the processor of the thread that
        /// sets it; the watchdog sleeps between checks, so timers that it sets do expire. The alarm is silent if that
        /// has not helped so far, and limps if for a minute nothing else has helped.
        case late(UInt64, isSilent: Bool = false, limps: Bool = false)
    }

    /// Adds a check. Constant time.
    ///
    /// - Parameters:
    ///   - overdue: the instant for which the alarm is overdue; nil if it is on time, or a round is in progress.
    ///   - now: the time in nanoseconds, on a clock that cannot be set.
    /// - Returns: what it has found.
    package mutating func finding(overdue: UInt64?, at now: UInt64) -> Finding {
        guard let overdue, overdue == self.overdue else {
            (self.overdue, since, count, ran, heldUp) = (overdue, now, 0, nil, (now, 0))
            return .onTime
        }
        count += 1
        let isSilent = count >= Self.checks && now - min(since, now) >= Self.length
        let first = late.flatMap { now - min($0.last, now) <= Self.pause ? $0.first : nil } ?? now
        late = (now, first)
        return .late(overdue, isSilent: isSilent, limps: now - min(first, now) >= Self.patience)
    }

    /// Decides whether an alarm has failed that a check has found silent or limping. Asked once for each such check.
    ///
    /// - Parameters:
    ///   - holdUp: what holds up the alarm's thread, with processor times on the checks' clock; nil if nothing does.
    ///   - limps: whether the alarm limps. That has taken a minute already.
    ///   - now: the time of the check.
    /// - Returns: false while something may hold it up. What is not known may do so for a minute, without a break.
    package mutating func hasFailed(heldUpBy holdUp: HoldUp?, limps: Bool = false, at now: UInt64) -> Bool {
        let isHeldUp: Bool
        switch holdUp {
        case nil: return true
        case .debugger, .kernel: isHeldUp = true
        case .processors(let ran): isHeldUp = !hasRun(ran)
        case .workers(let ran): isHeldUp = !haveRun(ran, at: now)
        case .unknown:
            let isOver = count - heldUp.check >= Self.doubtfulChecks && now - min(heldUp.at, now) >= Self.doubtfulLength
            return limps || isOver
        }
        if isHeldUp { heldUp = (now, count) }
        return !isHeldUp
    }

    /// Tells a thread that runs in vain from a thread that gets no processor. Asked once for each check that finds the
    /// alarm silent and its thread ready to run.
    ///
    /// - Parameter ran: the processor time that the thread has used so far, in nanoseconds.
    /// - Returns: whether it has used enough since the last check to fire; false at the first.
    package mutating func hasRun(_ ran: UInt64) -> Bool {
        defer { self.ran = ran }
        return self.ran.map { ran - min($0, ran) >= Self.enough } ?? false
    }

    /// Whether each of these threads has run since the last asking; false if that is long ago.
    private mutating func haveRun(_ ran: [String: UInt64], at now: UInt64) -> Bool {
        let before = workers.flatMap { now - min($0.at, now) <= Self.pause ? $0.ran : nil }
        workers = (now, ran)
        return before.map { before in !ran.contains { before[$0.key] == $0.value } } ?? false
    }
}

/// Which of a process's threads is the reaper, and when another one must take its place. A pure value.
package struct ReaperDuty: Sendable {
    /// The number of the thread on duty. An earlier one ends when its callback has returned.
    package private(set) var number = 0
    /// How many checks have found it at the same service; nil while it sweeps no service.
    private var checks: Int?

    package init() {}

    /// Gives the duty to a new thread.
    package mutating func pass(to number: Int) { (self.number, checks) = (number, nil) }

    /// A thread is about to sweep a service. Returns false if it is not on duty.
    package mutating func enter(_ number: Int) -> Bool { move(number, checks: 0) }

    /// A thread has swept all services. Returns false if it is not on duty.
    package mutating func leave(_ number: Int) -> Bool { move(number, checks: nil) }

    private mutating func move(_ number: Int, checks: Int?) -> Bool {
        guard number == self.number else { return false }
        self.checks = checks
        return true
    }

    /// Adds a check, once a second. Returns whether the thread is at the same service as at the last check: a callback
    /// keeps it there.
    package mutating func findsStuck() -> Bool {
        defer { checks? += 1 }
        return checks ?? 0 > 0
    }
}
