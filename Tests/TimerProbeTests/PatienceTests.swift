import PreciseTimer
import Testing
import TimerProbe

struct PatienceTests {
    @Test func aRowIsGivenUpOnlyWithoutTicks() {
        let start = TimerInstant(nanoseconds: 100)
        var patience = Patience(limit: .nanoseconds(10), now: start)
        let answers = [(0, 10), (1, 11), (1, 21), (1, 22)].map { patience.isOver(ticks: $0, now: start + $1) }
        #expect(answers == [false, false, false, true])
    }
}
