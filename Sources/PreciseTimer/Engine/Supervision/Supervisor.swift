internal import Synchronization
internal import TimerKernel

/// Supervises all services that have timers, on two threads for the whole process: a target may be released, and an
/// alarm may go silent, long before a deadline would show it.
///
/// Once a second, the thread `timer.watchdog` checks the alarms, and calls no code of the user. The thread
/// `timer.reaper` sweeps the services: it ends timers whose target was released, calls `onEnd`, and releases handlers.
/// If a callback keeps it for a second, another one takes its place for all other services. Both threads end when no
/// service has timers, and start again with the next one.
@safe final class Supervisor: Sendable {
    private struct State {
        /// The supervised services. The threads run while there are any.
        var cores: [ServiceCore] = []
        var duty = ReaperDuty()
    }

    private let state = Lock(State())
    private let home = Process.generation
    /// The process's threads, for the checks.
    let threads = ThreadList()

    private init() {}

    // MARK: The process's supervisor

    /// The latest supervisor, as a retained pointer. In a forked child it may be the parent's. Stored with release and
    /// read with acquire, so a thread that finds the pointer finds a complete object.
    private static let latest = Atomic<UInt>(0)

    /// This process's supervisor. A forked child makes its own: the parent's threads do not exist there, and the
    /// parent's lock may be held.
    static var current: Supervisor {
        while true {
            let known = latest.load(ordering: .acquiring)
            if let pointer = unsafe UnsafeRawPointer(bitPattern: known) {
                let supervisor = unsafe Unmanaged<Supervisor>.fromOpaque(pointer).takeUnretainedValue()
                if supervisor.home == Process.generation { return supervisor }
            }
            let new = unsafe Unmanaged.passRetained(Supervisor())
            let address = unsafe UInt(bitPattern: new.toOpaque())
            if latest.compareExchange(expected: known, desired: address, ordering: .acquiringAndReleasing).exchanged {
                return unsafe new.takeUnretainedValue()
            }
            unsafe new.release()
        }
    }

    /// Supervises a service from now on, until it has no timers.
    ///
    /// - Throws: `TimerError` if the system refuses a thread.
    func add(_ core: ServiceCore) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            if state.cores.isEmpty {
                try startReaper(&state)
                try Thread.start("timer.watchdog") { self.watch() }
            }
            state.cores.append(core)
            // The threads wait for this lock, so they cannot check the service before this.
            core.isSupervised = true
        }
    }

    // MARK: The watchdog

    private func watch() {
        SupervisorClock.eachSecond {
            let cores = state.withLock { $0.cores }
            // Those that leave the list are released after the lock.
            defer { withExtendedLifetime(cores) {} }
            for core in cores {
                guard let failure = core.checkAlarm(at: SupervisorClock.now, among: threads) else { continue }
                // On a thread of its own, because it calls the user's code. A refused thread is asked for again at the
                // next check, here and below.
                try? Thread.start("timer.reaper") { core.fail(failure) }
            }
            let stay = cores.filter { $0.staysSupervised() }
            return state.withLock { state in
                // Services that were added since, perhaps again, come after the known ones.
                state.cores = stay + state.cores.dropFirst(cores.count)
                if state.duty.findsStuck(), !state.cores.isEmpty { try? startReaper(&state) }
                return !state.cores.isEmpty
            }
        }
    }

    // MARK: The reaper

    private func startReaper(_ state: inout State) throws(TimerError) {
        let number = state.duty.number + 1
        try Thread.start("timer.reaper") { self.reap(as: number) }
        state.duty.pass(to: number)
    }

    private func reap(as number: Int) {
        SupervisorClock.eachSecond {
            for core in state.withLock({ $0.cores }) where state.withLock({ $0.duty.enter(number) }) {
                core.sweep()
                Thread.leaveForkedChild(of: home)
            }
            return state.withLock { $0.duty.leave(number) && !$0.cores.isEmpty }
        }
    }
}

/// The clock of the supervisor's seconds, in nanoseconds: the kernel's suspending clock, or, in a test, a faster one.
package enum SupervisorClock {
    /// Relaxed: a test sets it before its services start, and it orders no other memory.
    private static let speed = Atomic<UInt64>(1)

    /// Lets the clock run ten times as fast, for the rest of the process.
    package static func hurry() { speed.store(10, ordering: .relaxed) }

    static var now: UInt64 { scaled(TimerClock.suspending.now.nanoseconds) }

    /// The length on this clock of some nanoseconds of the kernel's clock.
    static func scaled(_ nanoseconds: UInt64) -> UInt64 { nanoseconds * speed.load(ordering: .relaxed) }

    /// Calls a body once a second, until it returns false. Slow bodies do not make the seconds longer.
    static func eachSecond(_ body: () -> Bool) {
        var next = now
        repeat {
            next = max(next + 1_000_000_000, now)
            let instant = next / speed.load(ordering: .relaxed)
            KernelClock.sleep(until: TimerInstant(nanoseconds: instant, clock: .suspending))
        } while body()
    }
}

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
    /// How long an alarm may fire only because it is set again, and how much time may be between two such findings.
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
    /// The processor time of the alarm's thread, when it was last read.
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
        /// It is overdue for this instant, and must be set again: the kernel's timer may have been lost, or may wait on
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
    /// - Returns: its finding.
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
    /// - Returns: false while something may hold it up. An unknown thread may be held up for a minute, without a break.
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
