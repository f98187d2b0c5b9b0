import ExampleSupport
import NIOCore
import NIOPosix
import PreciseTimer
import PreciseTimerTestKit

/// Timers on an event loop of SwiftNIO, through the program's own alarm. The program also checks this alarm against
/// the alarm contract.
@main
enum NIOEventLoop {
    static func main() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()

        let service = try TimerService(alarm: EventLoopAlarm(loop))
        let ledger = Ledger()
        let schedule = PreciseTimer.Schedule.every(.milliseconds(5), count: 20)
        let timer = try PreciseTimer.schedule(schedule, on: service, target: ledger) { ledger, tick in
            ledger.note(tick)
            check(loop.inEventLoop, "a tick came on another thread")
        }
        try await wait(for: "the last tick") { timer.state == .ended(.completed) }
        await service.shutdownAndWait()
        print("SwiftNIO: \(ledger.ticks) ticks on the event loop")
        check(ledger.ticks == 20, "there were \(ledger.ticks) ticks instead of 20")

        let conformance = AlarmConformance { EventLoopAlarm(loop) }
        let violations = AlarmConformance.Clause.allCases.flatMap { conformance.violations(of: $0) }
        print("the alarm keeps the contract:", violations.isEmpty ? "yes" : "no: \(violations)")
        check(violations.isEmpty, "the alarm breaks the contract")
        try await group.shutdownGracefully()
    }
}
