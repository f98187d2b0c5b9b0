import PreciseTimer
import Testing

/// How many timers a sweep for released targets covers.
struct SweepQuotaTests {
    @Test func fourSweepsCoverEveryTimerEvenIfAllOfThemEnd() {
        for first in [0, 1, 4_095, 4_096, 4_097, 10_000, 999_999, 1_000_000] {
            for sweepsBefore in 0..<4 {
                var quota = SweepQuota()
                for _ in 0..<sweepsBefore { _ = quota.next(of: first) }
                var remaining = first
                for _ in 0..<4 { remaining -= quota.next(of: remaining) }
                #expect(remaining == 0, "\(first) timers")
            }
        }
    }

    @Test func aSweepCoversAQuarterButNoFewerThanFourThousand() {
        var quota = SweepQuota()
        #expect(quota.next(of: 1_000_000) == 250_000)
        quota = SweepQuota()
        #expect(quota.next(of: 10_000) == 4_096)
        quota = SweepQuota()
        #expect(quota.next(of: 100) == 100)
    }

    @Test func theQuotaFollowsTheNumberOfTimersDown() {
        var quota = SweepQuota()
        _ = quota.next(of: 1_000_000)
        for _ in 0..<3 { #expect(quota.next(of: 400_000) == 250_000) }
        #expect(quota.next(of: 400_000) == 100_000)
    }
}
