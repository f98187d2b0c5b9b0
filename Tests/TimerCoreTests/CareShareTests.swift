import Testing
import TimerCore

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
