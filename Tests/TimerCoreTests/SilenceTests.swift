import Testing
import TimerCore

/// When an alarm counts as silent.
final class SilenceTests {
    private static let second: UInt64 = 1_000_000_000
    private var silence = Silence()

    /// Whether a look finds the alarm silent.
    private func isSilent(overdue: UInt64?, at now: UInt64) -> Bool { silence.lasts(overdue: overdue, at: now) }

    /// The number of looks, of at most 100, until the alarm is silent; nil if it never is.
    private func looks(every interval: UInt64, overdue: (Int) -> UInt64?) -> Int? {
        for look in 1...100 {
            if isSilent(overdue: overdue(look), at: UInt64(look) * interval) { return look }
        }
        return nil
    }

    @Test func anAlarmThatIsOverdueForOneInstantForFiveSecondsIsSilent() {
        #expect(looks(every: Self.second) { _ in 7 } == 6)
    }

    /// Each look finds another deadline that has just passed: the alarm is late, and fires.
    @Test func anAlarmThatIsOverdueForDifferentInstantsIsNotSilent() {
        #expect(looks(every: Self.second) { UInt64($0) } == nil)
        #expect(looks(every: Self.second) { $0 % 6 == 0 ? 8 : 7 } == nil)
    }

    @Test func anAlarmThatIsOnTimeInBetweenIsNotSilent() {
        #expect(looks(every: Self.second) { $0 % 6 == 0 ? nil : 7 } == nil)
    }

    /// If a sandbox refuses the sleep, looks come within microseconds.
    @Test func fastLooksAreNotEnough() {
        #expect(looks(every: 1_000) { _ in 7 } == nil)
        #expect(looks(every: Self.second / 10) { _ in 7 } == 46)
    }

    /// A process that stood still for a minute has had no chance to fire.
    @Test func aLongTimeIsNotEnough() {
        #expect(looks(every: 60 * Self.second) { _ in 7 } == 6)
    }

    @Test func aClockThatGoesBackDoesNotTrap() {
        #expect(!isSilent(overdue: 7, at: 10 * Self.second))
        for _ in 0..<10 { #expect(!isSilent(overdue: 7, at: Self.second)) }
    }
}
