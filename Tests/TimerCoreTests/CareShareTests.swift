import Testing
import TimerCore

/// How many timers the caretaker checks at a look.
final class CareShareTests {
    private static let million = 1_000_000
    private var share = CareShare()

    /// How many timers the next look checks.
    private func next(of count: Int) -> Int { share.next(of: count) }

    @Test func aLookChecksAQuarterOfTheTimers() {
        #expect(next(of: Self.million) == Self.million / 4)
        #expect(next(of: Self.million + 1) == Self.million / 4 + 1, "rounded up")
    }

    @Test func aLookChecksSomeThousandOrAll() {
        #expect(next(of: 0) == 0)
        #expect(next(of: CareShare.least - 1) == CareShare.least - 1)
        #expect(next(of: CareShare.least + 1) == CareShare.least)
    }

    /// All timers of a million have dead targets: each look ends its share.
    @Test func fourLooksEndAMillionTimersWhoseTargetsAreDead() {
        var left = Self.million
        for _ in 0..<4 { left -= next(of: left) }
        #expect(left == 0)
    }

    @Test func everyTimerIsCheckedWithinFourLooks() {
        for count in [10_000, 12_000, 14_000, 200_000, 20_000, 3_000, 1] {
            let shares = (0..<4).map { _ in next(of: count) }
            #expect(shares.reduce(0, +) >= count)
            #expect(shares.allSatisfy { $0 <= count })
        }
    }

    /// After four looks a former number no longer counts.
    @Test func aFormerNumberIsForgotten() {
        #expect(next(of: Self.million) == Self.million / 4)
        let later = (0..<4).map { _ in next(of: 100_000) }
        #expect(later == [100_000, 100_000, 100_000, 25_000])
    }
}
