import Glibc
import PreciseTimer
import TestSupport

/// A service with SCHED_DEADLINE whose lock other threads contend for.
enum DeadlineService {
    /// Whether its thread never yields the processor, which would give the rest of its period away. False, too, if the
    /// preloaded library does not count that, or the system refuses the policy.
    static func neverYields() throws(TimerError) -> Bool {
        let policy = TimerService.ThreadOptions.Policy.deadline(
            runtime: .milliseconds(100),
            deadline: .milliseconds(500),
            period: .milliseconds(500)
        )
        let service = try TimerService(.timerFD, thread: TimerService.ThreadOptions(policy: policy))
        guard RefusedCalls.yields == 0, service.grant.refusals.isEmpty else { return false }
        let (log, far) = (Log(), Log())
        try PreciseTimer.schedule(.every(.microseconds(200)), on: service, target: log) { $0.note($1) }
        for _ in 0..<2 {
            var thread = pthread_t()
            let churn = unsafe Unmanaged.passRetained(Churn(service, far)).toOpaque()
            unsafe pthread_create(&thread, nil, { unsafe Churn.run($0) }, churn)
        }
        let end = Reading.seconds + 2
        while Reading.seconds < end { pause(.milliseconds(10)) }
        return RefusedCalls.yields == 0 && log.count > 0
    }

    /// Schedules and cancels timers for two seconds.
    private final class Churn {
        private let service: TimerService
        private let target: Log

        init(_ service: TimerService, _ target: Log) {
            self.service = service
            self.target = target
        }

        static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let argument = unsafe argument else { return nil }
            let churn = unsafe Unmanaged<Churn>.fromOpaque(argument).takeRetainedValue()
            let end = Reading.seconds + 2
            while Reading.seconds < end {
                let timer = try? PreciseTimer.schedule(
                    .once(after: .seconds(60)),
                    on: churn.service,
                    target: churn.target,
                    handler: { $0.note($1) }
                )
                timer?.cancel()
            }
            return nil
        }
    }
}
