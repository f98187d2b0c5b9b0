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
                // Services that were added meanwhile, perhaps anew, come after the known ones.
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
