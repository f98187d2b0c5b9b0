import Testing
import TimerMeasurement

@Suite struct DistributionTests {
    @Test func percentilesOfKnownValuesAreRightToThreeDigits() {
        let distribution = Distribution((1...100_000).map { Int64($0) })
        for (percent, expected) in [(50.0, 50_000.0), (90, 90_000), (99, 99_000), (99.9, 99_900), (100, 100_000)] {
            let value = Double(distribution.percentile(percent))
            #expect(abs(value - expected) <= expected / 1000)
        }
    }

    @Test func aPercentileIsNeverBeyondTheGreatestValue() {
        let distribution = Distribution([1_000_001, 1_000_001])
        #expect(distribution.percentile(99.9) == 1_000_001)
    }

    @Test func percentilesOfAddedRoundsAreThoseOfAllTicks() {
        // The mean of the rounds' p99 would be 5,050.
        var rounds = Distribution(Array(repeating: 100, count: 990))
        rounds.add(Distribution(Array(repeating: 10_000, count: 10)))
        #expect(rounds.percentile(99) == 100)
        #expect(rounds.moments.count == 1000)
        #expect(rounds.moments.max == 10_000)
    }

    @Test func anEarlyTickIsNotLateToThePercentilesAndTheLeastToTheRest() {
        let distribution = Distribution([-5, 10])
        #expect(distribution.percentile(50) == 0)
        #expect(distribution.moments.min == -5)
    }

    @Test func latenessBeyondAnHourIsKeptAsTheGreatest() {
        let distribution = Distribution([Int64.max])
        #expect(distribution.moments.max == Int64.max)
        #expect(distribution.percentile(50) >= 3_600_000_000_000)
    }

    @Test func nothingHasZeroesEverywhere() {
        let distribution = Distribution([])
        #expect(distribution.percentile(50) == 0)
        #expect(distribution.moments.standardDeviation == 0)
    }

    @Test func meanAndDeviationOfKnownValues() {
        var moments = Moments()
        for value in [2, 4, 4, 4, 5, 5, 7, 9] as [Int64] { moments.add(value) }
        #expect(moments.mean == 5)
        #expect(moments.standardDeviation == 2)
    }

    @Test func addedMomentsAreThoseOfAllValues() {
        var (first, second, all) = (Moments(), Moments(), Moments())
        for value in [2, 4, 4, 100] as [Int64] {
            first.add(value)
            all.add(value)
        }
        for value in [-7, 5, 9] as [Int64] {
            second.add(value)
            all.add(value)
        }
        var sum = Moments()
        sum.add(first)
        sum.add(second)
        sum.add(Moments())
        #expect(sum.count == all.count)
        #expect(sum.min == -7)
        #expect(sum.max == 100)
        #expect(abs(sum.mean - all.mean) < 1e-9)
        #expect(abs(sum.standardDeviation - all.standardDeviation) < 1e-9)
    }
}
