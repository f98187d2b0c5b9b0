import Testing
import TimerAlarms

/// A step of the wall clock, from two readings of its distance to a clock that is never set.
struct WallClockOffsetTests {
    private func step(_ first: (Int64, error: Int64), _ second: (Int64, error: Int64)) -> Duration? {
        WallClockOffset(nanoseconds: first.0, error: first.error)
            .step(to: WallClockOffset(nanoseconds: second.0, error: second.error))
    }

    @Test func stepsInBothDirectionsAreTold() {
        #expect(step((5_000, error: 50), (3_600_000_005_000, error: 60)) == .seconds(3_600))
        #expect(step((3_600_000_005_000, error: 50), (5_000, error: 60)) == .seconds(-3_600))
    }

    @Test func aDifferenceWithinTheErrorsIsNoStep() {
        for difference in [-110, -1, 0, 1, 110] as [Int64] {
            #expect(step((5_000, error: 50), (5_000 + difference, error: 60)) == nil, "\(difference)")
        }
        #expect(step((5_000, error: 50), (5_111, error: 60)) == .nanoseconds(111))
        #expect(step((5_000, error: 50), (4_889, error: 60)) == .nanoseconds(-111))
    }

    @Test func nobodySetsTheClockBetweenTwoReadings() {
        // If somebody does, once in a while, one of three pairs is still without a step.
        let steps = (0..<3).map { _ in WallClockOffset.now.step(to: .now) }
        #expect(steps.contains(nil))
    }
}
