import Testing

@testable import BackendComparison

/// The lateness over the time of a stretch.
@Suite struct LatenessSeriesTests {
    private func made(_ points: [(time: UInt64, lateness: Int64)], steps: Int = 200) -> LatenessSeries? {
        LatenessSeries(points.map { Point(time: $0.time, lateness: $0.lateness) }, steps: steps)
    }

    @Test func aStepHasTheMedianAndTheGreatestLatenessOfItsTicks() throws {
        let points = [5, 9, 1, 70, 20, 30].enumerated().map { (UInt64($0.offset) * 10, Int64($0.element)) }
        let series = try #require(made(points, steps: 2))
        #expect(series.step == 26)
        #expect(series.medians == [5, 30] && series.maxima == [9, 70])
    }

    @Test func theOrderOfTheTicksDoesNotMatter() {
        let points = (0..<1000).map { (UInt64($0) * 1_000, Int64($0 * 37 % 101)) }
        #expect(made(points) == made(points.reversed()))
    }

    @Test func aStepWithoutATickIsEmpty() {
        let series = made([(0, 5), (1, 6), (2, 7), (90, 8)], steps: 3)
        #expect(series?.medians == [6, nil, 8] && series?.maxima == [7, nil, 8])
    }

    @Test func thereAreNoMoreStepsThanDeadlines() {
        // Ten timers tick at each of three deadlines.
        let few = made((0..<30).map { (UInt64($0 / 10) * 1_000_000, Int64($0)) })
        #expect(few?.medians == [4, 14, 24] && few?.maxima == [9, 19, 29])
        let many = made((0..<12_345).map { (UInt64($0) * 1_000_000, 1) })
        #expect(many?.medians.count == 200 && many?.medians.contains(nil) == false)
        #expect(made([(0, 5)])?.medians == [5])
        #expect(made([]) == nil)
    }
}
