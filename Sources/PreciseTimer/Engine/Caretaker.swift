internal import Synchronization
internal import TimerAlarms

/// Checks all services that have timers once a second, on one thread for the whole process: a target may be released,
/// and an alarm may go silent, long before a deadline would show it.
///
/// The thread ends when no service has timers, and starts again with the next one.
@safe
final class Caretaker: Sendable {
    private struct State {
        var cores: [ServiceCore] = []
        var isRunning = false
    }

    private let state = Lock(State())
    private let processID = Process.id

    private init() {}

    // MARK: The process's caretaker

    /// The latest caretaker, as a retained pointer. In a forked child it may be the parent's.
    private static let latest = Atomic<UInt>(0)

    /// This process's caretaker. A forked child makes its own: the parent's thread does not exist there, and the
    /// parent's lock may be held.
    static var current: Caretaker {
        while true {
            let known = latest.load(ordering: .acquiring)
            if let pointer = unsafe UnsafeRawPointer(bitPattern: known) {
                let caretaker = unsafe Unmanaged<Caretaker>.fromOpaque(pointer).takeUnretainedValue()
                if caretaker.processID == Process.id { return caretaker }
            }
            let new = unsafe Unmanaged.passRetained(Caretaker())
            let address = unsafe UInt(bitPattern: new.toOpaque())
            if latest.compareExchange(expected: known, desired: address, ordering: .acquiringAndReleasing).exchanged {
                return unsafe new.takeUnretainedValue()
            }
            unsafe new.release()
        }
    }

    // MARK: The thread

    /// Checks a service from now on, until it needs no more care.
    ///
    /// - Throws: `TimerError` if the system refuses the thread.
    func add(_ core: ServiceCore) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            if !state.isRunning { try Thread.start("timer.care") { self.run() } }
            state.isRunning = true
            state.cores.append(core)
            // The thread waits for this lock, so it cannot check the service before this.
            core.isCaredFor = true
        }
    }

    private func run() {
        repeat {
            KernelClock.sleep(for: .seconds(1))
            let cores = state.withLock { state in
                defer { state.cores = [] }
                return state.cores
            }
            let remaining = cores.filter { $0.takeCare() }
            state.withLock { $0.cores += remaining }
        } while goesOn()
    }

    private func goesOn() -> Bool {
        state.withLock { state in
            state.isRunning = !state.cores.isEmpty
            return state.isRunning
        }
    }
}
