import PreciseTimer
import Testing

/// The difference between a silent alarm and a late one.
struct SilenceTests {
    private static let second: UInt64 = 1_000_000_000

    /// The number of the look, from 1, that finds an alarm silent that stays overdue for one instant.
    private func lookThatHears(every length: UInt64, atMost count: Int = 100) -> Int? {
        var silence = Silence()
        return (1...count).first { silence.lasts(overdue: 7, at: 40 * Self.second + UInt64($0) * length) }
    }

    @Test func anAlarmIsSilentAtTheSixthLookOnceASecond() {
        #expect(lookThatHears(every: Self.second) == 6)
        #expect(lookThatHears(every: Self.second - 100_000_000) == 6, "seconds that are a little short")
    }

    @Test func looksThatComeTooFastWaitUntilTheTimeHasPassed() {
        #expect(lookThatHears(every: 1_000) == nil)
        #expect(lookThatHears(every: Self.second / 10) == 46)
    }

    @Test func aProcessThatStoodStillForAMinuteIsNotSilent() {
        #expect(lookThatHears(every: 60 * Self.second) == 6, "it had a chance to fire between the looks")
    }

    @Test func aThreadThatRunsInVainIsToldFromOneThatGetsNoProcessor() {
        var silence = Silence()
        let starved = (0..<10).map { silence.hasRun(7 + UInt64($0) * 10_000_000) }
        #expect(!starved.contains(true))
        silence = Silence()
        let spinning = (0..<3).map { silence.hasRun(7 + UInt64($0) * 50_000_000) }
        #expect(spinning == [false, true, true])
        _ = silence.lasts(overdue: 1, at: 0)
        let atOnce = silence.hasRun(2_000_000_000)
        #expect(!atOnce, "a new silence begins anew")
    }

    @Test func anAlarmThatFiresMeanwhileIsNotSilent() {
        var silence = Silence()
        for look in 0..<50 {
            let heard = silence.lasts(overdue: UInt64(look / 5), at: UInt64(look) * Self.second)
            #expect(!heard, "another instant each five looks")
        }
        for look in 50..<100 {
            let heard = silence.lasts(overdue: look % 6 == 0 ? nil : 99, at: UInt64(look) * Self.second)
            #expect(!heard, "on time now and then")
        }
    }
}

/// How many timers a look for dead targets checks.
struct CareShareTests {
    @Test func everyTimerIsCheckedWithinFourLooksEvenIfAllOfThemEnd() {
        for first in [0, 1, 4_095, 4_096, 4_097, 10_000, 999_999, 1_000_000] {
            for looksBefore in 0..<4 {
                var share = CareShare()
                for _ in 0..<looksBefore { _ = share.next(of: first) }
                var remaining = first
                for _ in 0..<4 { remaining -= share.next(of: remaining) }
                #expect(remaining == 0, "\(first) timers")
            }
        }
    }

    @Test func aLookChecksAQuarterButNoFewerThanFourThousand() {
        var share = CareShare()
        #expect(share.next(of: 1_000_000) == 250_000)
        share = CareShare()
        #expect(share.next(of: 10_000) == 4_096)
        share = CareShare()
        #expect(share.next(of: 100) == 100)
    }

    @Test func theShareFollowsTheNumberOfTimersDown() {
        var share = CareShare()
        _ = share.next(of: 1_000_000)
        for _ in 0..<3 { #expect(share.next(of: 400_000) == 250_000) }
        #expect(share.next(of: 400_000) == 100_000)
    }
}
