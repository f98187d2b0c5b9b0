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
            #expect(reflect(try TimerShutdown(of: service)).contains("\(service) #0\n"))
            #expect(reflect(TimerShutdown(of: bag)).contains("bag of 0 timers #0\n"))
            let periodic = PeriodicService(every: .seconds(30), label: "refresh") {}
            #expect(reflect(periodic).contains("periodic service \"refresh\", every 30 s"))
            let unnamed = PeriodicService(.fixedDelay(.seconds(30)), file: "App/Main.swift", line: 12) { _ in }
            #expect("\(unnamed)" == "periodic service (App/Main.swift:12), 30 s after each return")
        }
    }

    #if DEBUG
    /// The supervisor's thread may be the one that finds it and writes.
    @Test func aReporterThatIsNotHeldIsToldWithItsPlace() async {
        await #expect(processExitsWith: .success) {
            let (virtual, said) = (VirtualTime(), try TemporaryFile())
            dup2(said.handle.fileDescriptor, 2)
            let service = virtual.service
            _ = try TimerLog(of: service, to: Logger(label: "test"), on: service, file: "A", line: 1)
            _ = try TimerMetrics(of: service, factory: TestMetrics(), on: service, file: "A", line: 2)
            virtual.advanceWithoutSettling(by: .seconds(60))
            for line in 1...2 {
                let warning = "A:\(line): the target of this timer was released"
                #expect(eventually { (try? said.text)?.contains(warning) ?? false })
            }
        }
    }
    #endif
}
#endif
