import Dispatch
import ExampleSupport
import Glibc
import Logging
import PreciseTimer
import PreciseTimerLifecycle
import ServiceLifecycle
import Synchronization
import UnixSignals

/// A cache that a timer cleans.
final class Cache: Sendable {
    let cleanings = Atomic(0)
    let isBusy = Atomic(false)

    func clean() {
        isBusy.store(true, ordering: .sequentiallyConsistent)
        usleep(5_000)
        cleanings.add(1, ordering: .sequentiallyConsistent)
        isBusy.store(false, ordering: .sequentiallyConsistent)
    }
}

/// A journal that a timer writes.
final class Journal: Sendable {
    private let entries = Mutex<[String]>([])

    var unwritten: Int { entries.withLock { $0.count } }

    func append(_ entry: String) { entries.withLock { $0.append(entry) } }

    func flush() { entries.withLock { $0.removeAll() } }
}

/// A server that needs a clean cache until it has answered its last request.
struct Server: Service {
    let cache: Cache

    func run() async throws {
        try await wait(for: "a clean cache") { cache.cleanings.load(ordering: .sequentiallyConsistent) >= 3 }
        kill(getpid(), SIGTERM)
        try await gracefulShutdown()
        let last = cache.cleanings.load(ordering: .sequentiallyConsistent)
        try await wait(for: "one more cleaning") { cache.cleanings.load(ordering: .sequentiallyConsistent) > last + 1 }
    }
}

/// A program that ends its timers and its periodic job on SIGTERM, with swift-service-lifecycle: the timers after the
/// server, and nothing inside a handler or a run.
@main
enum GracefulShutdown {
    static func main() async throws {
        let (cache, timers) = (Cache(), TimerBag())
        let cleaning = try PreciseTimer.schedule(
            .fixedDelay(.milliseconds(5)),
            deliver: .queue(.global()),
            target: cache
        ) { cache, _ in cache.clean() }
        cleaning.store(in: timers)
        // Rarely, and once more at the end, so that nothing is left behind.
        let journal = Journal()
        try PreciseTimer.schedule(.every(.seconds(60)), target: journal) { journal, _ in journal.flush() }
            .store(in: timers)
        journal.append("started")

        let logger = Logger(label: "example")
        let writing = PeriodicService(
            every: .milliseconds(10),
            firstRun: .atStartOrFail,
            label: "writing",
            logger: logger
        ) {
            journal.append("still there")
            try await Task.sleep(for: .milliseconds(5))
        }

        // A group shuts its services down in reverse order. Its limits are longer than the one of the timers, whose
        // error would name a handler that hangs.
        var configuration = ServiceGroupConfiguration(
            services: [TimerShutdown(of: timers, lastTick: true, within: .seconds(10)), Server(cache: cache), writing],
            gracefulShutdownSignals: [.sigterm],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = .seconds(20)
        configuration.maximumCancellationDuration = .seconds(20)
        try await ServiceGroup(configuration: configuration).run()
        print("shutdown: cleaned \(cache.cleanings.load(ordering: .sequentiallyConsistent)) times, \(cleaning.state)")
        print("job: \(writing.counts.runs) runs, \(writing.counts.failures) failed")
        check(!cache.isBusy.load(ordering: .sequentiallyConsistent), "a handler is still running")
        check(cleaning.state == .ended(.completed), "the timer has not ended with its last tick")
        check(writing.counts.failures == 0, "a run failed: \(writing.counts.lastError, default: "")")
        check(writing.counts.runningSince == nil && writing.counts.runs > 0, "the job did not run, or is running")
        check(journal.unwritten == 0, "the last entries were not flushed")
    }
}
