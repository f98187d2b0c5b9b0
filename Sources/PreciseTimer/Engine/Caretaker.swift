internal import Synchronization
internal import TimerAlarms

/// Looks after the services that have timers, once a second, on one thread for the whole process: a target may die, and an
/// alarm may go silent, long before a deadline would show it.
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

    // MARK: One for each process

    /// The caretaker of the last process that asked for one, as a retained pointer.
    private static let latest = Atomic<UInt>(0)

    /// This process's. A forked child has one of its own: the parent's thread is not there, and its lock may be held.
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

    /// Looks after a service until that says that it needs no care.
    ///
    /// - Throws: `TimerError` if the system refuses the thread.
    func add(_ core: ServiceCore) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            if !state.isRunning { try Thread.start("timer.care") { self.run() } }
            state.isRunning = true
            state.cores.append(core)
            // Before the thread can have looked at it.
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
