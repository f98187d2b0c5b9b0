// A program of a user's own package, without a trait.
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
        await virtual.advance(by: .seconds(3))
        precondition(timer.state == .scheduled && virtual.pendingCount == 1)
        precondition(timer.cancel() && timer.state == .ended(.cancelled))

        let service = try TimerService(.timerFD, clock: .continuous)
        for try await tick in PreciseTimer.ticks(.every(.milliseconds(1)), on: service) where tick.index >= 3 { break }
        try await Task.sleep(until: service.clock.now.advanced(by: .milliseconds(1)), clock: service.clock)
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
