internal import CTimerKernel
internal import Glibc
internal import Synchronization

/// How the system schedules a thread (sched(7)).
enum SchedulingPolicy {
    /// In a word, that of the calling thread.
    static var ofCallingThread: String {
        var parameters = sched_param()
        unsafe sched_getparam(0, &parameters)
        // Without SCHED_RESET_ON_FORK.
        let (number, priority) = (Int(sched_getscheduler(0) & 0xff), parameters.sched_priority)
        let names = ["ordinary", "fifo:\(priority)", "rr:\(priority)", "batch", "", "idle", "deadline"]
        return names.indices.contains(number) ? names[number] : "of number \(number)"
    }
}

/// Tells a thread, a timer or a comparison to end.
final class StopFlag: Sendable {
    /// Releasing and acquiring: a thread that sees it set also sees what the setter has done before.
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
