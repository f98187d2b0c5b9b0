import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Rates with a fraction.
struct RateTests {
    private let virtual = VirtualTime()

    @Test(arguments: [
        (127.5, 60, 255, 120), (127.1, 60, 1_271, 600), (24 * 127.1, 60, 15_252, 300), (29.97, 1, 2_997, 100),
        (0.1, 1, 1, 10), (2.5, 86_400, 5, 172_800), (60, 1, 60, 1),
    ])
    func aDecimalIsTheExactRatioThatItNames(rate: Double, seconds: Int, ticks: Int, time: Int) throws {
        let (deadlines, start) = (Notes<TimerInstant>(), virtual.now)
        let schedule = PreciseTimer.Schedule.rate(rate, per: .seconds(seconds))
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service) { deadlines.append($1.deadline) }
        virtual.advance(by: .seconds(time))
        #expect(deadlines.all.count == ticks)
        #expect(deadlines.all.last == start.advanced(by: .seconds(time)))
        timer.cancel()
    }

    @Test(
        arguments: [0, -1, 1e-9, 1e30, .infinity, -.infinity, .nan],
        [.seconds(1), .zero, .seconds(-1), .seconds(Int64.max) * 18, .seconds(Int64.min) * 18] as [Duration]
    )
    func aRateThatMakesNoSenseIsRefused(rate: Double, duration: Duration) {
        let error = #expect(throws: TimerError.self) {
            _ = try PreciseTimer.schedule(.rate(rate, per: duration), on: virtual.service) { _, _ in }
        }
        #expect(error?.code == .invalidSchedule)
    }
}
