import HostSystem
import Testing
import TimerProbe

/// Disturbances of a round.
@Suite struct DisturbanceTests {
    @Test func onlyALongGapIsAStall() {
        #expect(StallCheck.disturbance(longestGap: 500_000, "after it") == nil)
        #expect(
            StallCheck.disturbance(longestGap: 1_234_400, "after it")
                == "a busy thread stood still for 1234 µs after it"
        )
    }

    @Test func theStolenTimeIsTheEighthNumber() throws {
        let stat = "cpu  10 20 30 400 5 6 7 22 1000 2000\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n"
        let time = try #require(StealTime(stat: stat))
        #expect(time.stolen == 22)
        // The time of users includes that of guests.
        #expect(time.total == 500)
    }

    @Test(arguments: ["", "\n", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7", "cpu a b c d e f g h", "intr 1"])
    func otherTextsHaveNoStolenTime(stat: String) {
        #expect(StealTime(stat: stat) == nil)
    }

    @Test func onlyMuchStolenTimeIsADisturbance() {
        let start = StealTime(stolen: 100, total: 1000)
        #expect(start.disturbance(until: StealTime(stolen: 102, total: 1100)) == nil)
        #expect(
            start.disturbance(until: StealTime(stolen: 105, total: 1100))
                == "other guests of the host took 5.0 % of the processors' time"
        )
        #expect(start.disturbance(until: start) == nil)
        #expect(start.disturbance(until: nil) == nil)
        #expect(start.disturbance(until: StealTime(stolen: 50, total: 1100)) == nil)
    }
}
