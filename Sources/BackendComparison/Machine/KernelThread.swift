internal import CTimerKernel
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import TimerKernel

/// A thread of this process, by the kernel's number.
struct KernelThread: Hashable, Sendable {
    private let number: Int32
    /// The number in /proc, which differs if /proc is that of another process namespace; nil if it is not shown there.
    let listedNumber: Int32?

    /// The calling thread.
    static var current: KernelThread {
        KernelThread(number: thread_id(), listedNumber: ThreadList.callingThread.flatMap { Int32($0) })
    }

    /// Starts a detached thread as ``TimerKernel/Thread/start(_:_:)`` does, and returns once it runs. Throws
    /// `Failure` if the system refuses the thread.
    @discardableResult static func start(
        _ name: String,
        _ body: @escaping @Sendable () -> Void
    ) throws(Failure) -> KernelThread {
        let (thread, hasBegun) = (Lock(current), DispatchSemaphore(value: 0))
        do throws(TimerError) {
            try Thread.start(name) {
                thread.withLock { $0 = current }
                hasBegun.signal()
                body()
            }
        } catch {
            throw Failure(error.attempted, Errno(error.errno ?? 0))
        }
        hasBegun.wait()
        return thread.withLock(\.self)
    }
}

/// How the system schedules a thread (sched(7)).
struct SchedulingPolicy: Hashable, CustomStringConvertible {
    let number, priority: Int32

    /// That of the calling thread.
    static var ofCallingThread: SchedulingPolicy {
        var parameters = sched_param()
        unsafe sched_getparam(0, &parameters)
        // Without SCHED_RESET_ON_FORK.
        return SchedulingPolicy(number: sched_getscheduler(0) & 0xff, priority: parameters.sched_priority)
    }

    var description: String {
        let names = ["ordinary", "fifo:\(priority)", "rr:\(priority)", "batch", "", "idle", "deadline"]
        return names.indices.contains(Int(number)) ? names[Int(number)] : "of number \(number)"
    }
}

/// Tells a thread or a timer to end.
final class StopFlag: Sendable {
    /// Releasing and acquiring: a thread that sees it set also sees what the setter has done before.
    private let flag = Atomic(false)

    init() {}

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
