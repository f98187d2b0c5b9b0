internal import Synchronization
internal import TimerAlarms
internal import TimerKernel

/// Checks all services that have timers once a second, on two threads for the whole process: a target may be released,
/// and an alarm may go silent, long before a deadline would show it.
///
/// The thread `timer.care` listens to the alarms, and calls no code of the user. The thread `timer.farewell` looks for
/// released targets, calls `onEnd`, and releases handlers. If a callback keeps it for a second, another one takes its
/// place for all other services. Both threads end when no service has timers, and start again with the next one.
@safe final class Caretaker: Sendable {
    private struct State {
        var cores: [ServiceCore] = []
        var isRunning = false
        /// The number of the thread that says the farewells. An earlier one ends when its callback has returned.
        var attendant = 0
        /// The number of times that this thread has begun or ended its work on a service. Odd while it works.
        var steps = 0

        /// Removes a service once: it may have been added again.
        mutating func remove(_ core: ServiceCore) {
            if let index = cores.firstIndex(where: { $0 === core }) { cores.remove(at: index) }
        }
    }

    private let state = Lock(State())
    private let home = Process.generation

    private init() {}

    // MARK: The process's caretaker

    /// The latest caretaker, as a retained pointer. In a forked child it may be the parent's. Stored with release and
    /// read with acquire, so a thread that finds the pointer finds a complete object.
    private static let latest = Atomic<UInt>(0)

    /// This process's caretaker. A forked child makes its own: the parent's threads do not exist there, and the
    /// parent's lock may be held.
    static var current: Caretaker {
        while true {
            let known = latest.load(ordering: .acquiring)
            if let pointer = unsafe UnsafeRawPointer(bitPattern: known) {
                let caretaker = unsafe Unmanaged<Caretaker>.fromOpaque(pointer).takeUnretainedValue()
                if caretaker.home == Process.generation { return caretaker }
            }
            let new = unsafe Unmanaged.passRetained(Caretaker())
            let address = unsafe UInt(bitPattern: new.toOpaque())
            if latest.compareExchange(expected: known, desired: address, ordering: .acquiringAndReleasing).exchanged {
                return unsafe new.takeUnretainedValue()
            }
            unsafe new.release()
        }
    }

    /// Checks a service from now on, until it needs no more care.
    ///
    /// - Throws: `TimerError` if the system refuses a thread.
    func add(_ core: ServiceCore) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            if !state.isRunning {
                try startAttendant(&state)
                try Thread.start("timer.care") { self.listen() }
            }
            state.isRunning = true
            state.cores.append(core)
            // The threads wait for this lock, so they cannot check the service before this.
            core.isCaredFor = true
        }
    }

    /// Calls a body once a second, until it returns false. Slow bodies do not make the seconds longer.
    private func eachSecond(_ body: () -> Bool) {
        var next = CareClock.now
        repeat {
            next = max(next + 1_000_000_000, CareClock.now)
            CareClock.sleep(until: next)
        } while body()
    }

    // MARK: Listening to alarms

    private func listen() {
        var (attendant, steps) = (0, 0)
        eachSecond {
            let cores = state.withLock { $0.cores }
            for core in cores { if let silence = core.listen(at: CareClock.now) { end(core, silence) } }
            let idle = cores.filter { !$0.goesOnCaring() }
            return state.withLock { state in
                for core in idle { state.remove(core) }
                state.isRunning = !state.cores.isEmpty
                // A system that refuses the thread is asked again after a second.
                let isStuck = state.steps % 2 == 1 && (attendant, steps) == (state.attendant, state.steps)
                if isStuck, state.isRunning { try? startAttendant(&state) }
                (attendant, steps) = (state.attendant, state.steps)
                return state.isRunning
            }
        }
    }

    /// Ends a service whose alarm is silent, on a thread of its own: this calls the user's code.
    private func end(_ core: ServiceCore, _ silence: ServiceState.Failure) {
        do throws(TimerError) { try Thread.start("timer.farewell") { core.fail(silence) } } catch {
            core.fail(silence)
            Thread.leaveForkedChild(of: home)
        }
    }

    // MARK: Saying farewells

    private func startAttendant(_ state: inout State) throws(TimerError) {
        let number = state.attendant + 1
        try Thread.start("timer.farewell") { self.attend(as: number) }
        (state.attendant, state.steps) = (number, 0)
    }

    private func attend(as number: Int) {
        eachSecond {
            guard let cores = state.withLock({ $0.isRunning && $0.attendant == number ? $0.cores : nil }) else {
                return false
            }
            for core in cores {
                guard takeStep(of: number) else { return false }
                core.takeCare()
                Thread.leaveForkedChild(of: home)
                guard takeStep(of: number) else { return false }
            }
            return true
        }
    }

    /// Counts a step. Returns false if another thread has taken the attendant's place.
    private func takeStep(of number: Int) -> Bool {
        state.withLock { state in
            guard state.attendant == number else { return false }
            state.steps += 1
            return true
        }
    }
}

/// The clock of the caretaker's seconds, in nanoseconds: the kernel's suspending clock, or, in a test, a faster one.
package enum CareClock {
    /// Relaxed: a test sets it before its services start, and it orders no other memory.
    private static let speed = Atomic<UInt64>(1)

    /// Lets the clock run ten times as fast, for the rest of the process.
    package static func hurry() { speed.store(10, ordering: .relaxed) }

    static var now: UInt64 { scaled(TimerClock.suspending.now.nanoseconds) }

    /// The length on this clock of some nanoseconds of the kernel's clock.
    static func scaled(_ nanoseconds: UInt64) -> UInt64 { nanoseconds * speed.load(ordering: .relaxed) }

    static func sleep(until instant: UInt64) {
        KernelClock.sleep(
            until: TimerInstant(nanoseconds: instant / speed.load(ordering: .relaxed), clock: .suspending)
        )
    }
}
