import Foundation
import PreciseTimer
import Synchronization

/// Checks promises of the library that depend on the kernel, as root in a guest with two processors.
///
///     kernels-probe ROW
///
/// Services and busy threads are pinned to processor 0. The main thread judges them from processor 1, on which nothing
/// else is busy.
@main enum KernelsProbe {
    static func main() {
        let rows = [
            "1": Rows.clocks, "2": Rows.grants, "3": Rows.inheritance, "4": Rows.besideASpin, "5": Rows.pinned,
            "6": Rows.clocks, "7": Rows.suspension,
        ]
        let name = CommandLine.arguments.last ?? ""
        do {
            try System.pinMainThread(to: 1)
            if let row = rows[name] { try row() } else { Rows.say(false, "there is no row \(name)") }
        } catch {
            Rows.say(false, "row \(name): \(error)")
        }
    }
}

/// The rows. Each prints lines, and a broken promise is a line that begins with FAIL.
enum Rows {
    static let period = Duration.milliseconds(10)

    static func say(_ isKept: Bool, _ text: String) {
        // At once: the guest may be ended in the middle of a row.
        FileHandle.standardOutput.write(Data("\(isKept ? "ok  " : "FAIL") \(text)\n".utf8))
    }
}

/// A backend, and one of its clocks.
struct Kind: Sendable, CustomStringConvertible {
    let backend: TimerService.Backend
    let clock: TimerClock

    static func all(of backends: [TimerService.Backend] = TimerService.Backend.allCases) -> [Kind] {
        backends.flatMap { backend in
            TimerClock.allCases.filter(backend.clocks.contains).map { Kind(backend: backend, clock: $0) }
        }
    }

    var description: String { "\(backend) on \(clock)" }

    func service(_ options: TimerService.ThreadOptions = TimerService.ThreadOptions()) throws -> TimerService {
        try TimerService(backend, clock: clock, thread: options)
    }
}

/// Counts the ticks of one periodic timer, and compares each of them with a reading of the clock of its own.
final class Count: Sendable {
    struct State {
        var first: TimerInstant?
        var ticks = 0
        /// The sum of 1 + `missed`.
        var deadlines = 0
        /// The ticks while the spin was on.
        var besideSpin = 0
        var latest = Duration.zero
        var faults: [String] = []
    }

    private let state = Mutex(State())
    private let period: Duration
    private let spin: Spin?

    init(_ period: Duration, beside spin: Spin? = nil) {
        self.period = period
        self.spin = spin
    }

    var now: State { state.withLock { $0 } }

    /// Returns the state with this tick.
    @discardableResult func note(_ tick: PreciseTimer.Tick) -> State {
        let read = System.nanoseconds(tick.deadline.clock)
        let isBesideSpin = spin?.isOn == true
        return state.withLock { state in
            if read < tick.deadline.nanoseconds { state.faults.append("early by the clock: \(tick)") }
            if tick.delivered < tick.deadline { state.faults.append("early: \(tick)") }
            let first = state.first ?? tick.deadline
            state.first = first
            if tick.index != state.deadlines || tick.deadline != first.advanced(by: period * state.deadlines) {
                state.faults.append("after \(state.deadlines) deadlines comes number \(tick.index): \(tick)")
            }
            state.ticks += 1
            state.deadlines += 1 + tick.missed
            // Deadlines that pass while the handler is on its way may belong to the next tick.
            let passed = (woke: passed(first, tick.woke), delivered: passed(first, tick.delivered))
            if !(passed.woke...max(passed.woke, passed.delivered) ~= state.deadlines) {
                state.faults.append("\(state.deadlines) of \(passed) deadlines: \(tick)")
            }
            if isBesideSpin { state.besideSpin += 1 }
            state.latest = max(state.latest, tick.lateness)
            return state
        }
    }

    private func passed(_ first: TimerInstant, _ now: TimerInstant) -> Int {
        Int((now.nanoseconds - first.nanoseconds) / UInt64(period / .nanoseconds(1))) + 1
    }
}

extension Count.State {
    /// The first faults, in one line; empty if there are none.
    var fault: String { faults.isEmpty ? "" : "; \(faults.count) faults: \(faults.prefix(2).joined(separator: "; "))" }
}

/// Calls of the system, without the library.
enum System {
    static func nanoseconds(_ clock: TimerClock) -> UInt64 {
        var time = timespec()
        switch clock {
        case .suspending: clock_gettime(CLOCK_MONOTONIC, &time)
        case .continuous: clock_gettime(CLOCK_BOOTTIME, &time)
        case .wall: clock_gettime(CLOCK_REALTIME, &time)
        }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static func sleep(until nanoseconds: UInt64) {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    static func sleep(_ time: Duration) { sleep(until: after(time)) }

    /// The reading of CLOCK_MONOTONIC after this time.
    static func after(_ time: Duration) -> UInt64 { nanoseconds(.suspending) + UInt64(time / .nanoseconds(1)) }

    static func text(of path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// Writes to a file of the kernel. Returns 0, or the number of the error.
    static func write(_ text: String, to path: String) -> Int32 {
        let file = open(path, O_WRONLY)
        defer { close(file) }
        return file >= 0 && Glibc.write(file, text, text.utf8.count) >= 0 ? 0 : errno
    }

    /// How long the system was suspended since it started.
    static var suspended: Duration {
        let ran = nanoseconds(.suspending)
        return .nanoseconds(nanoseconds(.continuous) - ran)
    }

    /// The policy of the calling thread, as in `fifo:80`, by the kernel's word.
    static var policy: String {
        var parameters = sched_param()
        sched_getparam(0, &parameters)
        // The flag says that a child does not inherit the policy.
        let policy = sched_getscheduler(0) & ~0x4000_0000
        return policy == SCHED_FIFO ? "fifo:\(parameters.sched_priority)" : "policy \(policy)"
    }

    /// Threads that the library starts get the processors of the main thread, and other threads those of their creator.
    static func pinMainThread(to processor: Int) throws {
        try TimerService.ThreadOptions(affinity: [processor], demand: .required).applyToCallingThread()
    }

    /// Whether the kernel has PREEMPT_RT. From Linux 7 on there is no `/sys/kernel/realtime`.
    static let isRealTimeKernel = text(of: "/proc/sys/kernel/version").contains("PREEMPT_RT")

    /// Whether the kernel's timers are as fine as its clock.
    static var hasFineTimers: Bool {
        var resolution = timespec()
        clock_getres(CLOCK_MONOTONIC, &resolution)
        return resolution.tv_nsec == 1
    }
}

/// A thread of the probe on processor 0.
final class Helper: Sendable {
    private let isOver = DispatchSemaphore(value: 0)

    /// Returns when the thread has its priority. Otherwise a busy thread might keep it from asking.
    ///
    /// - Parameters:
    ///   - priority: of SCHED_FIFO; nil for an ordinary thread.
    ///   - body: the work of the thread.
    init(priority: Int?, _ body: @escaping @Sendable () -> Void) {
        let policy: TimerService.ThreadOptions.Policy = priority.map { .fifo(priority: $0) } ?? .normal
        let options = TimerService.ThreadOptions(policy: policy, affinity: [0], demand: .required)
        let isReady = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [isOver] in
            do { try options.applyToCallingThread() } catch { Rows.say(false, "a thread of the probe: \(error)") }
            isReady.signal()
            body()
            isOver.signal()
        }
        isReady.wait()
    }

    func wait() { isOver.wait() }
}

/// A value that threads share.
final class Shared<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) { mutex = Mutex(value) }

    var value: Value { mutex.withLock { $0 } }

    func change(_ body: (inout sending Value) -> Void) { mutex.withLock { body(&$0) } }
}

/// A real-time thread that is busy on processor 0 for some time.
final class Spin: Sendable {
    private let phase = Atomic(0)

    var isOn: Bool { phase.load(ordering: .relaxed) == 1 }
    var isOver: Bool { phase.load(ordering: .relaxed) == 2 }

    func start(for time: Duration) -> Helper {
        Helper(priority: 50) { [self] in
            let end = System.after(time)
            phase.store(1, ordering: .relaxed)
            while System.nanoseconds(.suspending) < end {}
            phase.store(2, ordering: .relaxed)
        }
    }
}

/// What a real-time thread gets without the library: it sleeps from deadline to deadline.
final class Bare: Sendable {
    private let count = Atomic(0)

    var besideSpin: Int { count.load(ordering: .relaxed) }

    func start(_ period: Duration, beside spin: Spin) -> Helper {
        Helper(priority: 79) { [self] in
            let step = UInt64(period / .nanoseconds(1))
            var deadline = System.nanoseconds(.suspending)
            while !spin.isOver {
                deadline += step
                System.sleep(until: deadline)
                if spin.isOn { count.add(1, ordering: .relaxed) }
                let late = System.nanoseconds(.suspending) - deadline
                deadline += late / step * step
            }
        }
    }
}

extension Duration {
    /// The milliseconds, with one digit after the point.
    var text: String { String(format: "%.1f ms", self / .milliseconds(1)) }
}
