import PreciseTimer
import Testing

/// The difference between a silent alarm and a late one.
struct AlarmWatchdogTests {
    private static let second: UInt64 = 1_000_000_000

    /// The number of the check, from 1, that finds an alarm silent that stays overdue for one instant.
    private func checkThatFindsSilence(every length: UInt64, atMost count: Int = 100) -> Int? {
        var watchdog = AlarmWatchdog()
        return (1...count).first { watchdog.findsSilent(overdue: 7, at: 40 * Self.second + UInt64($0) * length) }
    }

    @Test func anAlarmIsSilentAtTheSixthCheckOnceASecond() {
        #expect(checkThatFindsSilence(every: Self.second) == 6)
        #expect(checkThatFindsSilence(every: Self.second - 100_000_000) == 6, "seconds that are a little short")
    }

    @Test func checksThatComeTooFastWaitUntilTheTimeHasPassed() {
        #expect(checkThatFindsSilence(every: 1_000) == nil)
        #expect(checkThatFindsSilence(every: Self.second / 10) == 46)
    }

    @Test func aProcessThatStoodStillForAMinuteIsNotSilent() {
        #expect(checkThatFindsSilence(every: 60 * Self.second) == 6, "it had a chance to fire between the checks")
    }

    @Test func aThreadThatRunsInVainIsToldFromOneThatGetsNoProcessor() {
        var watchdog = AlarmWatchdog()
        let starved = (0..<10).map { watchdog.hasRun(7 + UInt64($0) * 10_000_000) }
        #expect(!starved.contains(true))
        watchdog = AlarmWatchdog()
        let spinning = (0..<3).map { watchdog.hasRun(7 + UInt64($0) * 50_000_000) }
        #expect(spinning == [false, true, true])
        _ = watchdog.findsSilent(overdue: 1, at: 0)
        let atOnce = watchdog.hasRun(2_000_000_000)
        #expect(!atOnce, "another instant begins anew")
    }

    @Test func anAlarmThatFiresMeanwhileIsNotSilent() {
        var watchdog = AlarmWatchdog()
        for check in 0..<50 {
            let isSilent = watchdog.findsSilent(overdue: UInt64(check / 5), at: UInt64(check) * Self.second)
            #expect(!isSilent, "another instant each five checks")
        }
        for check in 50..<100 {
            let overdue: UInt64? = check % 6 == 0 ? nil : 99
            let isSilent = watchdog.findsSilent(overdue: overdue, at: UInt64(check) * Self.second)
            #expect(!isSilent, "on time now and then")
        }
    }
}
