import ExampleSupport
import Glibc
import InMemoryLogging
import Logging
import MetricsTestKit
import PreciseTimer
import PreciseTimerLogging
import PreciseTimerMetrics

/// A service that reports to swift-metrics and swift-log: how late its ticks are, and which handlers are slow.
@main
enum Observability {
    static func main() async throws {
        // A program uses its own backends here. These ones keep all entries, for the checks below.
        let (factory, entries) = (TestMetrics(), InMemoryLogHandler())
        let logger = Logger(label: "timers") { _ in entries }

        let service = try TimerService(.timerFD)
        let metrics = try TimerMetrics(of: service, name: "cache", every: .milliseconds(400), factory: factory)
        let log = try TimerLog(of: service, to: logger, every: .milliseconds(400))

        let (ledger, timers) = (Ledger(), TimerBag())
        try PreciseTimer.schedule(.every(.milliseconds(5)), on: service, label: "expiry") { _, tick in
            ledger.note(tick)
            // One call is far too slow.
            if ledger.ticks == 20 { usleep(30_000) }
        }
        .store(in: timers)
        try await wait(for: "200 deadlines") { ledger.deadlines >= 200 }
        await timers.cancelAllAndWait()
        let labels = [("service", "timerfd")]
        let ticks = try factory.expectCounter("cache.ticks", labels)
        let missed = try factory.expectCounter("cache.missed", labels)
        metrics.report()
        log.report()

        // A periodic report may still be on its way, on a queue.
        try await wait(for: "all reports") {
            ticks.totalValue >= ledger.ticks && missed.totalValue >= ledger.missed
                && entries.entries.contains { $0.level == .warning }
        }
        for entry in entries.entries { print("\(entry.level): \(entry.message)") }
        print("metrics: cache.ticks \(ticks.totalValue), cache.missed \(missed.totalValue)")
        check(ticks.totalValue == ledger.ticks, "\(ticks.totalValue) ticks were reported instead of \(ledger.ticks)")
        check(missed.totalValue == ledger.missed, "missed deadlines were reported twice")
    }
}
