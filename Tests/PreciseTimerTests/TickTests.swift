import PreciseTimer
import Testing

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
