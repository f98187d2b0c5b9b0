// A program of a user's own package, without a trait.
import PreciseTimerExecutor
import PreciseTimerPatterns
import PreciseTimerTestKit

#if os(Linux)
import PreciseTimer
#endif

@main
enum Consumer {
    static func main() async throws {
        let virtual = VirtualTime()
        let model = Model()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { model, tick in
            model.step(missed: tick.missed)
        }
        await virtual.advance(by: .seconds(2))
        try await virtual.run { try await virtual.clock.sleep(for: .seconds(1)) }
        precondition(timer.state == .scheduled && virtual.pendingCount == 1)
        precondition(timer.cancel() && timer.state == .ended(.cancelled))

        let service = try TimerService(.timerFD, clock: .continuous)
        for try await tick in PreciseTimer.ticks(.every(.milliseconds(1)), on: service) where tick.index >= 3 { break }
        let task = Task(executorPreference: TimerExecutor(on: service)) { try await Task.sleep(for: .milliseconds(1)) }
        try await task.value
        let meter = Meter()
        let counter = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: meter) { meter, _ in
            meter.ticks += 1
        }
        while await meter.ticks < 3 { await Task.yield() }
        await counter.cancelAndWait()
        print("a user's package builds and runs")
    }
}

actor Meter {
    var ticks = 0
}

final class Model: Sendable {
    func step(missed: Int) { precondition(missed == 0) }
}
