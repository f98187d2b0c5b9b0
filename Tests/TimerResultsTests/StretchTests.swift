import Testing
import TimerResults

@Suite struct StretchTests {
    @Test func aStretchHoldsTheMedianAndTheGreatestLateness() {
        // 99 ms have room for seven stretches of 12.5 ms.
        let points = (0..<100).map { Point(time: UInt64($0) * 1_000_000, lateness: Int64($0)) }
        let stretches = Stretch.of(points, from: 5)
        #expect(stretches.count == 7)
        #expect(stretches.first == Stretch(time: 5, median: 7, greatest: 13))
        #expect(stretches.dropFirst().first == Stretch(time: 14_000_005, median: 21, greatest: 27))
        #expect(stretches.last?.greatest == 99)
    }

    @Test func aTurnHasOneTo64Stretches() {
        let points = (0..<10_000).map { Point(time: UInt64($0) * 1_000_000, lateness: 1) }
        #expect(Stretch.of(points, from: 0).count == 64)
        #expect(Stretch.of(Array(points[..<1]), from: 3) == [Stretch(time: 3, median: 1, greatest: 1)])
        #expect(Stretch.of([], from: 0).isEmpty)
    }
}
