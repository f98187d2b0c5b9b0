#if ServiceLifecycle && Logging && Metrics
import Foundation
import InMemoryLogging
import Logging
import MetricsTestKit
import PreciseTimer
import PreciseTimerLifecycle
import PreciseTimerLogging
import PreciseTimerMetrics
import PreciseTimerTestKit
import TestSupport
import Testing

/// What adapters say of themselves in a process of their own.
struct DumpTests {
    @Test func anAdapterIsDumpedWithWhatItServes() async {
        await #expect(processExitsWith: .success) {
            let (service, bag, logger) = (VirtualTime().service, TimerBag(), Logger(label: "test"))
            let log = try TimerLog(of: service, to: logger)
            #expect(reflect(log) == "▿ PreciseTimerLogging.TimerLog #0\n  - service: \(service) #1\n")
            let metrics = try TimerMetrics(of: service, factory: TestMetrics())
            #expect(reflect(metrics) == "▿ PreciseTimerMetrics.TimerMetrics #0\n  - service: \(service) #1\n")
            try PreciseTimer.schedule(.every(.seconds(30)), on: service) { _, _ in }.store(in: bag)
            let shutdowns = [try TimerShutdown(of: service), TimerShutdown(of: bag)]
            let names = ["shutdown of \("\(service)".prefix { $0 != "\n" })", "shutdown of bag of 1 timer"]
            #expect(shutdowns.map { "\($0)" } == names, "each on one line")
            #expect(reflect(shutdowns[0]).contains("\(service) #0\n"))
            #expect(reflect(shutdowns[1]).contains("bag of 1 timer #0\n"))
            let periodic = PeriodicService(every: .seconds(30), label: "refresh") {}
            #expect(reflect(periodic).contains("periodic service \"refresh\", every 30 s"))
            let unnamed = PeriodicService(.fixedDelay(.seconds(30)), file: "App/Main.swift", line: 12) { _ in }
            #expect("\(unnamed)" == "periodic service (App/Main.swift:12), 30 s after each return")
        }
    }
}
#endif
