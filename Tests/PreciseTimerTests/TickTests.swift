import Foundation
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Ticks that a test makes itself.
struct TickTests {
    private let due = TimerInstant(nanoseconds: 1_000, clock: .wall)

    @Test func aTickIsOnTimeUnlessToldOtherwise() {
        let tick = PreciseTimer.Tick(deadline: due)
        #expect(tick.index == 0 && tick.missed == 0)
        #expect(tick.deadline == due && tick.woke == due && tick.delivered == due)
        #expect(tick.lateness == .zero && tick.wakeLateness == .zero && tick.hopLateness == .zero)
    }

    @Test func aTickIsDeliveredWhenItWokeUnlessToldOtherwise() {
        let woke = due.advanced(by: .nanoseconds(30))
        let tick = PreciseTimer.Tick(deadline: due, woke: woke)
        #expect(tick.delivered == woke)
        #expect(tick.lateness == .nanoseconds(30) && tick.hopLateness == .zero)
        let late = PreciseTimer.Tick(deadline: due, delivered: woke)
        #expect(late.woke == due)
        #expect(late.wakeLateness == .zero && late.hopLateness == .nanoseconds(30))
    }

    @Test func latenessIsThatOfTheWakeUpAndThatOfTheHop() {
        let tick = PreciseTimer.Tick(
            index: 7,
            deadline: due,
            woke: due.advanced(by: .microseconds(20)),
            delivered: due.advanced(by: .microseconds(25)),
            missed: 3
        )
        #expect(tick.index == 7 && tick.missed == 3)
        #expect(tick.wakeLateness == .microseconds(20))
        #expect(tick.hopLateness == .microseconds(5))
        #expect(tick.lateness == tick.wakeLateness + tick.hopLateness)
    }

    @Test func aTickThatWakesBeforeItsDeadlineIsAProgrammingError() async {
        await #expect(processExitsWith: .failure) {
            let due = TimerInstant(nanoseconds: 1_000)
            _ = PreciseTimer.Tick(deadline: due, woke: due.advanced(by: .nanoseconds(-1)), delivered: due)
        }
    }

    @Test func aTickThatIsDeliveredBeforeItWakesIsAProgrammingError() async {
        await #expect(processExitsWith: .failure) {
            let due = TimerInstant(nanoseconds: 1_000)
            _ = PreciseTimer.Tick(deadline: due, woke: due.advanced(by: .nanoseconds(1)), delivered: due)
        }
    }

    @Test func aTickOfTwoClocksIsAProgrammingError() async {
        await #expect(processExitsWith: .failure) {
            let due = TimerInstant(nanoseconds: 1_000)
            _ = PreciseTimer.Tick(deadline: due, delivered: TimerInstant(nanoseconds: 1_000, clock: .wall))
        }
    }
}

/// Backends rarely wake early: a deadline is rounded up on its way to the mechanism, so that a tick costs one firing.
/// The hybrid backend fires early on purpose.
@Suite(.waits("the kernel rounds the time of a firing"), .timeLimit(.minutes(60))) struct RoundingTests {
    @Test(arguments: TimerService.Backend.available.filter { $0 != .hybrid })
    func firingsRarelyComeBeforeTheirDeadline(backend: TimerService.Backend) throws {
        let alarm = try backend.makeAlarm()
        let (early, firings) = (Count(), Count())
        let deadline = Box<TimerInstant>()
        try alarm.start(
            onFire: {
                guard let due = deadline.value else { return }
                if alarm.now < due { early.add(1) }
                firings.add(1)
            },
            onFailure: { _ in }
        )
        defer { alarm.stop() }
        for round in 1...100 {
            // An instant with a fraction of a microsecond.
            let now = alarm.now.nanoseconds
            let due = TimerInstant(nanoseconds: (now / 1000 + 500) * 1000 + 1 + UInt64(round % 999))
            deadline.value = due
            try alarm.set(due)
            #expect(eventually { firings.value >= round })
        }
        #expect(early.value <= 10)
    }

    #if RunLoop
    @Test func aRunLoopsFireDateIsAFewMicrosecondsAfterItsDeadlineAndNeverBefore() {
        var generator = SeededGenerator(seed: 1)
        // Between 2026 and 2030, and up to an hour ahead.
        for _ in 0..<10_000 {
            let wall = UInt64.random(in: 1_767_225_600_000_000_000...1_900_000_000_000_000_000, using: &generator)
            let delay = UInt64.random(in: 0...3_600_000_000_000, using: &generator)
            let date = RunLoopAlarm.fireDate(TimerInstant(nanoseconds: wall, clock: .wall), in: delay)
            // Without the whole seconds, which would leave a `Double` too few digits for nanoseconds.
            let late = (date.timeIntervalSince1970 - Double((wall + delay) / 1_000_000_000)) * 1e9
            #expect((1_500...4_000).contains(late - Double((wall + delay) % 1_000_000_000)))
        }
    }
    #endif
}
