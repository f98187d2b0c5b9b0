import Foundation
import NIOCore
import NIOPosix
import PreciseTimer
import PreciseTimerTestKit
import Synchronization

/// Timers on an event loop of SwiftNIO, through the program's own alarm. The program also checks this alarm against
/// the alarm contract.
@main
enum NIOEventLoop {
    static func main() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()

        let service = try TimerService(alarm: EventLoopAlarm(loop))
        let counter = Counter()
        let timer = try PreciseTimer.schedule(.every(.milliseconds(5)), on: service, target: counter) { counter, tick in
            let isGood = loop.inEventLoop && tick.lateness >= .zero
            counter.count(isGood)
        }
        while counter.good.load(ordering: .relaxed) < 20 { try await Task.sleep(for: .milliseconds(5)) }
        timer.cancel()
        service.shutdown()
        let (good, bad) = (counter.good.load(ordering: .relaxed), counter.bad.load(ordering: .relaxed))
        print("SwiftNIO: \(good) ticks on the event loop, \(bad) early or elsewhere")

        let conformance = AlarmConformance { EventLoopAlarm(loop) }
        let violations = AlarmConformance.Clause.allCases.flatMap { conformance.violations(of: $0) }
        print("the alarm keeps the contract:", violations.isEmpty ? "yes" : "no: \(violations)")
        try await group.shutdownGracefully()
        if bad > 0 || !violations.isEmpty { exit(1) }
    }
}

/// Counts ticks.
final class Counter: Sendable {
    let good = Atomic(0)
    let bad = Atomic(0)

    func count(_ isGood: Bool) {
        if isGood { good.add(1, ordering: .relaxed) } else { bad.add(1, ordering: .relaxed) }
    }
}
