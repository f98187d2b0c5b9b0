import PreciseTimer
import TestSupport
import Testing
import TimerAlarms

/// No backend wakes early as a rule: a deadline is rounded up on its way to the mechanism, so that a tick costs one firing.
@Suite(.timeLimit(.minutes(10))) struct RoundingTests {
    @Test(arguments: TimerService.Backend.available)
    func fewFiringsComeBeforeTheirDeadline(backend: TimerService.Backend) throws {
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
            // An instant that is no whole number of microseconds.
            let now = alarm.now.nanoseconds
            let due = TimerInstant(nanoseconds: (now / 1000 + 500) * 1000 + 1 + UInt64(round % 999))
            deadline.value = due
            try alarm.set(due)
            #expect(eventually { firings.value >= round })
        }
        #expect(early.value <= 10)
    }
}
