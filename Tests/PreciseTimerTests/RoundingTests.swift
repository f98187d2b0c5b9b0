import Foundation
import PreciseTimer
import TestSupport
import Testing
import TimerAlarms

/// Backends rarely wake early: a deadline is rounded up on its way to the mechanism, so that a tick costs one firing.
/// The hybrid backend fires early on purpose.
@Suite(.timeLimit(.minutes(60))) struct RoundingTests {
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
