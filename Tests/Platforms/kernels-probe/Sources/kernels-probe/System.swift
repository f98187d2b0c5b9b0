import Foundation
import PreciseTimer
import Synchronization

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
