// The trend of wake-ups, and how far its noise can be believed.
import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel
import TimerStatistics

/// Series of latenesses in nanoseconds, one each millisecond, in which nothing drifts.
private enum Series: CaseIterable {
    /// Lateness keeps one of two levels for some ticks, as machines do.
    case shortLevels, longLevels
    /// Each tick is late by itself; a few are very late; some stalls make many ticks late.
    case independent, singles, stalls
    /// One tick of all is late.
    case one

    func make(_ count: Int, _ random: inout SeededGenerator) -> [UInt64] {
        switch self {
        case .shortLevels: Self.levels(of: 5...50, count, &random)
        case .longLevels: Self.levels(of: 50...500, count, &random)
        case .independent: (0..<count).map { _ in 25_000 + Self.exponential(20_000, &random) }
        case .singles:
            Self.levels(of: 5...50, count, &random)
                .map { $0 + (UInt64.random(in: 0..<1_000, using: &random) == 0 ? Self.exponential(1e6, &random) : 0) }
        case .stalls: Self.stalled(Self.levels(of: 5...50, count, &random), &random)
        case .one: Self.with(20_000_000, at: .random(in: 0..<count, using: &random), count)
        }
    }

    private static func levels(
        of lengths: ClosedRange<Int>,
        _ count: Int,
        _ random: inout SeededGenerator
    ) -> [UInt64] {
        var series: [UInt64] = []
        while series.count < count {
            let level: UInt64 = Bool.random(using: &random) ? 27_000 : 50_000
            for _ in 0..<Int.random(in: lengths, using: &random) {
                series.append(level + UInt64.random(in: 0..<2_000, using: &random))
            }
        }
        return Array(series.prefix(count))
    }

    /// Two to six stalls of some 20 ms: each makes the ticks within it late, the first one most.
    private static func stalled(_ series: [UInt64], _ random: inout SeededGenerator) -> [UInt64] {
        var series = series
        for _ in 0..<Int.random(in: 2...6, using: &random) {
            var (place, length) = (Int.random(in: 0..<series.count, using: &random), exponential(20e6, &random))
            while place < series.count, length > 1_000_000 {
                series[place] += length
                place += 1
                length -= 1_000_000
            }
        }
        return series
    }

    private static func with(_ late: UInt64, at place: Int, _ count: Int) -> [UInt64] {
        (0..<count).map { $0 == place ? 25_000 + late : 25_000 }
    }

    /// An exponentially distributed number, as the shortest of many intervals is.
    private static func exponential(_ mean: Double, _ random: inout SeededGenerator) -> UInt64 {
        // The sum of geometric numbers of halves: exact enough, and without a logarithm.
        var (sum, part) = (0.0, mean * 0.6931)
        while Bool.random(using: &random) { sum += part }
        part = Double.random(in: 0..<1, using: &random) * mean * 0.6931
        return UInt64(sum + part)
    }
}

/// The trend of a series, of which each tick is later by `ramp` nanoseconds than the one before.
private func trend(_ series: [UInt64], ramp: Double = 0) -> Trend {
    var batches = BatchSums()
    for (place, lateness) in series.enumerated() {
        batches.add(time: 1_000_000 * Int64(place), lateness: lateness + UInt64(Double(place) * ramp))
    }
    return Trend(batches)
}

struct DriftTests {
    @Test(arguments: Series.allCases)
    fileprivate func aSeriesThatDoesNotDriftSaysSoInNinetyNineOfAHundredWindows(series: Series) async throws {
        var random = SeededGenerator(seed: 54)
        for (count, windows) in [(30_000, 20), (16_000, 50)] {
            var alarms = 0
            for _ in 0..<windows {
                let line = try #require(trend(series.make(count, &random)).line)
                if line.slope.magnitude > line.noise { alarms += 1 }
                // Other tests wait for the thread.
                await Task.yield()
            }
            #expect(alarms <= 1, "of \(windows) windows of \(count) ticks")
        }
    }

    @Test(arguments: [Series.shortLevels, .independent, .singles])
    fileprivate func aThirdOfAMillionthIsFoundInAMinute(series: Series) async throws {
        var random = SeededGenerator(seed: 54)
        for _ in 0..<6 {
            let line = try #require(trend(series.make(60_000, &random), ramp: 0.3).line)
            #expect(line.slope > line.noise && (line.slope - 0.3).magnitude < line.noise)
            await Task.yield()
        }
    }

    @Test func levelsThatLastLongerThanABatchWidenTheNoise() throws {
        var random = SeededGenerator(seed: 54)
        let noises = try [Series.independent, .shortLevels, .longLevels]
            .map { try #require(trend($0.make(30_000, &random)).line).noise }
        #expect(noises == noises.sorted() && noises[2] > 2 * noises[1], "\(noises)")
    }

    /// In two seconds, levels of up to half a second look like a drift in one of six windows; by the noise of the
    /// longest batches alone, in one of three.
    @Test func aNoiseThatStillGrowsFromLengthToLengthIsWidened() throws {
        var random = SeededGenerator(seed: 54)
        let alarms = try (0..<100)
            .count { _ in
                let line = try #require(trend(Series.longLevels.make(2_000, &random)).line)
                return line.slope.magnitude > line.noise
            }
        #expect(alarms <= 23)
    }

    @Test func aStallInTheLastTicksIsInTheNoiseAsItIsInTheSlope() throws {
        // No batch of a greater length has the last 48 of 6,000 ticks.
        let lines = try stride(from: 5_930, to: 5_984, by: 9)
            .map { place in
                try #require(trend((0..<6_000).map { $0 == place ? 20_000_000 : 25_000 }).line)
            }
        #expect(lines.count { $0.slope > $0.noise } == 0)
    }

    @Test func tooFewWakeUpsHaveNoNoiseOrNoDrift() throws {
        let counts = [0, 47, 48, 511, 512]
        let lines = counts.map { trend((0..<UInt64($0)).map { 5_000 + 1_000 * $0 }).line }
        #expect(lines.map { $0?.slope.rounded() } == [nil, nil, 1_000, 1_000, 1_000])
        let noises = lines.map { $0?.noise ?? -1 }
        #expect(noises[..<4] == [-1, -1, .infinity, .infinity] && noises[4] < 0.01)
    }

    @Test func wakeUpsOfOneTimeHaveNoDrift() {
        var batches = BatchSums()
        for lateness in 0..<100 as Range<UInt64> { batches.add(time: 5_000, lateness: lateness) }
        #expect(Trend(batches).line == nil)
    }

    @Test func theTrendOfAnIntervalIsThatOfItsOwnBatches() throws {
        // Flat, then a ramp, in whole batches.
        let series = Array(repeating: UInt64(9_000), count: 16_384) + (1...16_384).map { 9_000 + 50 * $0 }
        let (early, all) = (trend(Array(series.prefix(16_384))), trend(series))
        let line = try #require(all.since(early)?.line)
        #expect((line.slope - 50).magnitude < 0.001 && line.noise < 0.001)
        #expect(try #require(early.line).slope == 0 && all.since(all)?.line == nil)
        #expect(all.since(trend([])) == all)
    }

    @Test func aReadingOfOtherWakeUpsIsNotSubtracted() {
        let series = Array(repeating: UInt64(9_000), count: 1_000)
        let (own, longer) = (trend(series), trend(series + series))
        var others = BatchSums()
        for place in 1...500 { others.add(time: 1_000_000 * Int64(place), lateness: 9_000) }
        #expect(own.since(Trend(others)) == nil && own.since(longer) == nil)
    }

    @Test func theDriftOfAMinuteIsKnownAfterTenYearsOfTenThousandWakeUpsASecond() throws {
        var batches = BatchSums()
        // A tick of a year is as many as fit into a test; their sums are as great as those of all.
        let year = 365 * 86_400 * 1_000_000_000 as Int64
        for tick in 0..<16_384 as Range<Int64> { batches.add(time: tick * (year / 1_639), lateness: 1 << 62) }
        let before = Trend(batches)
        for tick in 1...60_000 as ClosedRange<Int64> {
            batches.add(time: 10 * year + tick * 1_000_000, lateness: 40_000 + 20 * UInt64(tick))
        }
        let line = try #require(Trend(batches).since(before)?.line)
        #expect((line.slope - 20).magnitude < 0.001 && line.noise < 0.001, "\(line)")
    }

    @Test func greatLatenessIsExactUpToWhatAnInstantCanHold() throws {
        // Ten years, and all but a second of the longest instant.
        let hours = (0..<480 as Range<Int64>).map { $0 * 3_600_000_000_000 }
        for base in [300_000_000_000, 315_360_000_000_000_000, UInt64.max - 1_000_000_000_000] {
            var batches = BatchSums()
            for (tick, time) in hours.enumerated() {
                batches.add(time: time, lateness: base + 750_000_000 * UInt64(tick))
            }
            let slope = Trend(batches).line?.slope
            #expect(slope.map { ($0 - 208.333).magnitude < 0.001 } ?? false, "\(base): \(slope ?? .nan)")
        }
    }

    @Test func greatEvenLatenessHasTheNoiseOfItsUnevenness() throws {
        var (random, small, great) = (SeededGenerator(seed: 54), BatchSums(), BatchSums())
        for tick in 0..<20_000 as Range<Int64> {
            let lateness = UInt64.random(in: 0..<20_000, using: &random)
            small.add(time: tick * 1_000_000, lateness: lateness)
            great.add(time: tick * 1_000_000, lateness: lateness + 3_600_000_000_000_000)
        }
        let noises = try [small, great].map { try #require(Trend($0).line).noise }
        #expect(noises[0] > 0 && noises[0] == noises[1])
    }
}

/// Which ticks are in the drift of a service, and of a timer.
struct DriftPopulationTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @discardableResult private func schedule(
        _ schedule: PreciseTimer.Schedule,
        tolerance: Duration = .zero,
        deliver: PreciseTimer.Delivery = .inline
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(
            schedule,
            on: virtual.service,
            tolerance: tolerance,
            deliver: deliver,
            target: log
        ) { log, _ in withExtendedLifetime(log) {} }
    }

    @Test func aServiceHasTheDriftOfItsAlarmAndATimerItsOwn() throws {
        virtual.service.collectsStatistics = true
        let timer = try schedule(.every(.milliseconds(1)))
        timer.collectsStatistics = true
        virtual.advance(by: .microseconds(500))
        for tick in 1...2_000 {
            virtual.inject(.wakeLate(by: .nanoseconds(50 * tick)))
            virtual.advance(by: .milliseconds(1))
        }
        for drift in [virtual.service.statistics?.drift, timer.statistics?.drift] {
            #expect(drift.map { ($0.ppm - 50).magnitude < 0.01 && $0.noise < 0.01 } ?? false, "\(drift as Any)")
        }
    }

    @Test func timersThatBeginLaterAreNoDriftNorIsTheirTolerance() throws {
        virtual.service.collectsStatistics = true
        var timers = [try schedule(.every(.milliseconds(1)))]
        virtual.advance(by: .seconds(2))
        for index in 0..<20 {
            timers.append(try schedule(.every(.microseconds(7_300 + 1_000 * index)), tolerance: .milliseconds(5)))
            timers[index + 1].collectsStatistics = true
        }
        virtual.advance(by: .seconds(20))
        let drifts = [virtual.service.statistics?.drift] + timers.dropFirst().map { $0.statistics?.drift }
        #expect(drifts.map { $0?.ppm } == Array(repeating: 0, count: 21))
        #expect(timers[3].statistics?.p99 ?? .zero > .microseconds(100), "they were late on purpose")
    }

    @Test func aHopIsNoDrift() throws {
        let (queue, start) = (DispatchQueue(label: "hop"), virtual.now)
        let timer = try schedule(.every(.milliseconds(1)), deliver: .queue(queue))
        timer.collectsStatistics = true
        // Each tick waits longer in the queue.
        for tick in 1...64 {
            queue.suspend()
            virtual.advance(by: virtual.now.duration(to: start.advanced(by: .milliseconds(tick))))
            virtual.advance(by: .microseconds(5 * tick))
            queue.resume()
            queue.sync {}
        }
        let statistics = try #require(timer.statistics)
        #expect(statistics.lateness.longest == .microseconds(320) && statistics.drift?.ppm == 0)
        timer.cancel()
    }

    @Test func handlersThatTakeLongerAndLongerAreNoDriftOfTheAlarm() throws {
        virtual.service.collectsStatistics = true
        let (virtual, count) = (virtual, Counter())
        try PreciseTimer.schedule(.every(.milliseconds(10)), on: virtual.service, target: log) { _, _ in
            virtual.advance(by: .microseconds(20 * count.next()))
        }
        virtual.advance(by: .seconds(10))
        let drift = try #require(virtual.service.statistics?.drift)
        #expect(drift.ppm == 0, "\(drift)")
    }

    @Test func anExtraTickIsNoDrift() throws {
        let timer = try schedule(.every(.seconds(1)))
        timer.collectsStatistics = true
        for _ in 0..<60 {
            virtual.advance(by: .milliseconds(500))
            timer.fire()
            virtual.jump(by: .milliseconds(500))
        }
        #expect(timer.statistics?.ticks == 120 && timer.statistics?.drift?.ppm == 0)
    }

    @Test func hourlyTicksHaveTheirDriftInSecondsAndMinutes() throws {
        virtual.service.collectsStatistics = true
        let start = virtual.now
        try schedule(.every(.seconds(3_600)))
        for tick in 1...100 as ClosedRange<Int64> {
            let late = start.advanced(by: .seconds(tick * 3_600 + 300) + .milliseconds(750 * tick))
            virtual.jump(by: virtual.now.duration(to: late))
        }
        #expect(virtual.service.statistics?.drift?.description == "208.3 ± ? ppm")
    }

    @Test func mergedStatisticsHaveNoDriftUnlessOneIsEmpty() throws {
        virtual.service.collectsStatistics = true
        let empty = try #require(virtual.service.statistics)
        try schedule(.every(.seconds(1)))
        virtual.advance(by: .seconds(100))
        let own = try #require(virtual.service.statistics)
        virtual.advance(by: .seconds(200))
        let longer = try #require(virtual.service.statistics)
        var (merged, withEmpty) = (own, own)
        merged.merge(own)
        withEmpty.merge(empty)
        #expect(merged.drift == nil && longer.since(merged).drift == nil)
        #expect(withEmpty.drift == own.drift && own.drift?.ppm == 0 && longer.since(own).drift?.ppm == 0)
    }

    @Test func aDriftInWordsHasADigitIfItsNoiseIsSmallOrUnknown() {
        let cases = [(2.4, 28.0), (-0.04, 0.11), (208.33, .infinity), (-3.7, 0.95)].map { "\(drift($0.0, $0.1))" }
        #expect(cases == ["2 ± 28 ppm", "0.0 ± 0.1 ppm", "208.3 ± ? ppm", "-4 ± 1 ppm"])
    }

    private func drift(_ ppm: Double, _ noise: Double) -> PreciseTimer.Statistics.Drift {
        .init(ppm: ppm, noise: noise)
    }
}

/// Counts from 1.
private final class Counter: Sendable {
    private let value = Lock(0)

    func next() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }
}
