import Dispatch
import PreciseTimer

/// A service or queue on which several threads schedule timers at the same time.
protocol Contender: SendableMetatype {
    init() throws
    /// Makes a thread's body: it schedules and cancels one timer.
    func pairs() -> @Sendable () -> () -> Void
    /// Waits for the work that cancelled timers left behind.
    func settle()
    /// Starts timers that are always due.
    func storm() throws
    func close()
}

/// A service of this library.
struct OurContender: Contender {
    private let service: TimerService
    private let target = Target()

    init() throws { service = try TimerService(.timerFD) }

    func pairs() -> @Sendable () -> () -> Void {
        { [service] in
            let target = Target()
            return {
                let timer = try? PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
                    target,
                    _ in target.tick()
                }
                timer?.cancel()
            }
        }
    }

    func settle() {}

    func storm() throws { try OurTimers.storm(on: service, target) }

    func close() { service.shutdown() }
}

/// One Dispatch queue.
final class DispatchContender: Contender {
    private let queue = DispatchQueue(label: "benchmark")
    private let target = Target()
    private var sources: [any DispatchSourceTimer] = []

    func pairs() -> @Sendable () -> () -> Void {
        { [queue] in
            let target = Target()
            return { DispatchTimers.source(on: queue, target, deadline: .now() + 3_600).cancel() }
        }
    }

    func settle() { queue.sync {} }

    func storm() { sources = DispatchTimers.storm(on: queue, target) }

    func close() {
        for source in sources { source.cancel() }
        settle()
    }
}
