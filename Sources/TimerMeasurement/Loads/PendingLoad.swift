internal import PreciseTimer
internal import TimerAlarms
internal import TimerCore

/// Timers that wait in a service's queue for an hour and more.
final class PendingLoad: LoadWork {
    private let timers: Lock<[PreciseTimer]>

    /// Schedules them.
    init(_ count: Int, on service: TimerService) throws(TimerError) {
        var timers: [PreciseTimer] = []
        timers.reserveCapacity(count)
        do throws(TimerError) {
            for number in 0..<count {
                let delay = Duration.seconds(3_600) + .milliseconds(number)
                timers.append(try PreciseTimer.schedule(.once(after: delay), on: service) { _, _ in })
            }
        } catch {
            for timer in timers { timer.cancel() }
            throw error
        }
        self.timers = Lock(timers)
    }

    deinit { stop() }

    /// It has no threads.
    var usage: ResourceUsage { .none }

    /// Its timers wait from the start.
    func begin() {}

    /// Nothing that would be billed goes on.
    func halt() {}

    func stop() {
        let timers = timers.withLock { timers in
            defer { timers = [] }
            return timers
        }
        for timer in timers { timer.cancel() }
    }
}
