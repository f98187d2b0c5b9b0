// The build order decides which module declares `sched_param`, so both are imported.
internal import CLinuxTimers
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Real-time scheduling policies.
package enum RealTime {
    /// Whether the system lets a thread of this process have such a policy: a thread of its own tries it. It takes
    /// root, CAP_SYS_NICE or a limit above zero for RLIMIT_RTPRIO (sched(7)).
    package static let isAllowed: Bool = {
        let (isAllowed, hasTried) = (Outcome(), DispatchSemaphore(value: 0))
        let thread = try? KernelThread.start("try.realtime") {
            var parameters = sched_param()
            parameters.sched_priority = 1
            isAllowed.value.store(unsafe sched_setscheduler(0, SCHED_FIFO, &parameters) == 0, ordering: .relaxed)
            hasTried.signal()
        }
        guard thread != nil else { return false }
        hasTried.wait()
        return isAllowed.value.load(ordering: .relaxed)
    }()

    private final class Outcome: Sendable { let value = Atomic(false) }
}
