import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// The smallest part of a duration.
private let atto = Duration(attoseconds: 1)

/// Instants and durations: exact, rounded up, saturating.
struct TimerInstantTests {
    private let second = TimerInstant(nanoseconds: 1_000_000_000)
    private let late = TimerInstant(nanoseconds: .max - 5)

    @Test func durationsAreRoundedUpToWholeNanosecondsAndSaturate() {
        let lengths: [(Duration, Int64)] = [
            (atto, 1), (.zero - atto, 0), (.nanoseconds(7) + atto, 8), (.nanoseconds(-7) - atto, -7),
            (.seconds(3), 3_000_000_000), (.seconds(Int64.min), .min), (.seconds(Int64.min) * 18, .min),
            (.seconds(18_446_744_073), .max), (.seconds(Int64.max), .max), (.seconds(Int64.max) * 18, .max),
        ]
        #expect(lengths.map(\.0.nanosecondsRoundedUp) == lengths.map(\.1))
    }

    @Test func anInstantMovesExactlyUntilItIsNeverOrTheOrigin() {
        let sums: [(TimerInstant, Duration, UInt64)] = [
            (second, .nanoseconds(7) + atto, 1_000_000_008), (second, .milliseconds(-400), 600_000_000),
            (second, .nanoseconds(Int64.max), UInt64(Int64.max) + 1_000_000_000),
            (second, .seconds(18_446_744_073), .max), (second, .seconds(Int64.max) * 18, .max),
            (second, .seconds(-2), 0), (second, .seconds(Int64.min), 0), (late, .seconds(-18_446_744_074), 0),
            (late, .nanoseconds(Int64.min), UInt64(Int64.max) - 5), (late, .nanoseconds(4), .max - 1),
            (late, .nanoseconds(5), .max), (late, .nanoseconds(6), .max),
        ]
        #expect(sums.map { $0.0.advanced(by: $0.1).nanoseconds } == sums.map(\.2))
        #expect([late, .never(on: .suspending)].map { $0.advanced(by: .seconds(-5)).isNever } == [false, true])
    }

    @Test func aDistanceLeadsFromOneInstantToTheOtherEvenOver584Years() {
        let origin = TimerInstant.origin(on: .suspending)
        let instants = [0, 1, 291, 293, 584].map { second.advanced(by: .seconds($0 * 31_556_952)) } + [origin, late]
        for (one, other) in instants.flatMap({ one in instants.map { (one, $0) } }) {
            let distance = Duration(attoseconds: (Int128(other.nanoseconds) - Int128(one.nanoseconds)) * 1_000_000_000)
            #expect(one.duration(to: other) == distance && one.advanced(by: distance) == other)
        }
    }

    @Test(arguments: TimerClock.allCases)
    func aClockBeginsWithItsOriginAndEndsWithNever(clock: TimerClock) {
        let (origin, never) = (TimerInstant.origin(on: clock), TimerInstant.never(on: clock))
        #expect(origin.nanoseconds == 0 && origin.clock == clock && origin.advanced(by: .seconds(-1)) == origin)
        #expect(never > origin && never.advanced(by: .seconds(-1)) == never)
        #expect("\(origin), \(never)" == "0 ns (\(clock.rawValue)), never (\(clock.rawValue))")
    }
}

/// Durations as messages and descriptions show them.
struct DurationTextTests {
    @Test(arguments: [
        (Duration.zero, "0 s"), (.nanoseconds(999), "999 ns"), (.microseconds(1), "1 µs"),
        (.nanoseconds(999_999), "999.999 µs"), (.milliseconds(1), "1 ms"), (.nanoseconds(999_999_999), "999.999999 ms"),
        (.seconds(1), "1 s"), (.seconds(3_600), "3600 s"), (.microseconds(-100), "-100 µs"),
        (.seconds(Int64.min), "-9223372036854775808 s"), (.seconds(Int64.max), "9223372036854775807 s"),
        (Duration(attoseconds: .max), "170141183460469231731.687303715 s"),
        (Duration(attoseconds: .min), "-170141183460469231731.687303715 s"),
    ])
    func aDurationReadsInTheLargestUnitOfWhichItIsAtLeastOne(duration: Duration, text: String) {
        #expect(duration.text == text)
    }

    @Test func partsOfANanosecondAreLeftOutUnlessThereIsNothingElse() {
        let parts = [.nanoseconds(1) + atto, .nanoseconds(-1) - atto, .seconds(2) - atto]
        #expect(parts.map(\.text) == ["1 ns", "-1 ns", "1.999999999 s"])
        let short = [atto, .nanoseconds(1) - atto, .zero - atto]
        #expect(short.map(\.text) == ["0.000000001 ns", "0.999999999 ns", "-0.000000001 ns"])
    }
}

/// Every length has a bucket, and the buckets leave no gap and are narrow.
struct LogHistogramTests {
    @Test func bucketsAreContiguousAndAtMostAnEighthAsWideAsTheirLengths() {
        #expect([LogHistogram.bucket(of: 0), Int(LogHistogram.greatest(in: 0))] == [0, 0])
        for bucket in 1..<LogHistogram.size {
            let (first, last) = (LogHistogram.greatest(in: bucket - 1) + 1, LogHistogram.greatest(in: bucket))
            #expect([first, first + (last - first) / 2, last].map(LogHistogram.bucket) == [bucket, bucket, bucket])
            // The width of a bucket is one more than the distance between its ends.
            #expect(first <= last && (first < 8 ? first == last : last - first < first / 8), "bucket \(bucket)")
        }
        #expect(LogHistogram.greatest(in: LogHistogram.size - 1) == UInt64.max)
    }

    @Test func lengthsAreCountedInTheirBuckets() {
        var histogram = LogHistogram()
        for length in [7, 1_000, 7, 1_001] as [UInt64] { histogram.add(length) }
        #expect([histogram.count, histogram.total, histogram.longest] == [4, 2_015, 1_001])
        let counted = (0..<LogHistogram.size).filter { histogram.counts[$0] == 2 }
        #expect(counted == [7, 1_000].map(LogHistogram.bucket))
        histogram.add(.max)
        #expect([histogram.count, histogram.total, histogram.longest] == [5, .max, .max], "it saturates")
    }
}

/// Random numbers are the same on every machine.
struct SeededGeneratorTests {
    @Test func theNumbersAreThoseOfThePublishedGenerator() {
        var random = SeededGenerator(seed: 1_234_567)
        let published: [UInt64] = [
            6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
        ]
        #expect((0..<5).map { _ in random.next() } == published)
    }
}

// Steps, grids and alignment, compared with 128-bit arithmetic, which cannot overflow here.

/// The length of a step is exact, even if it is not a whole number of nanoseconds.
struct PeriodTests {
    @Test(arguments: 0..<4)
    func randomPeriodsAgreeWithWideArithmetic(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var disagreements = 0
        for _ in 0..<5_000 {
            let period = Period(nanoseconds: magnitude(1...62, &random), count: magnitude(1...40, &random))
            let (step, elapsed) = (magnitude(1...63, &random), magnitude(1...63, &random))
            let answers = (period.offset(ofStep: step), period.latestStep(within: elapsed))
            if answers != (exactOffset(period, step), exactStep(period, elapsed)) { disagreements += 1 }
        }
        #expect(disagreements == 0)
    }

    @Test func offsetsAndStepsThatOverflowSaturate() {
        let (hour, dense) = (Period(nanoseconds: 3_600_000_000_000), Period(nanoseconds: 1, count: 2))
        let (most, last) = (UInt64.max, UInt64.max / hour.nanoseconds)
        #expect([last, last + 1, most].map(hour.offset) == [last * hour.nanoseconds, nil, nil])
        #expect([most / 2, most / 2 + 1, most].map(dense.latestStep) == [most - 1, most, most])
        #expect(Grid(7, hour).deadline(last + 1) == most)
        // The exact offset is half a nanosecond above the largest number: it saturates and does not wrap around.
        #expect(Period(nanoseconds: 31, count: 2).offset(ofStep: 1_190_112_520_884_487_201) == UInt64.max)
    }

    @Test func thePeriodsLengthIsTruncatedToWholeAttoseconds() {
        let lengths = [Period(nanoseconds: 300), Period(nanoseconds: 1_000_000_000, count: 60)].map(\.duration)
        #expect(lengths == [.nanoseconds(300), Duration(attoseconds: 16_666_666_666_666_666)])
    }

    private func exactOffset(_ period: Period, _ step: UInt64) -> UInt64? {
        let (quotient, remainder) = (UInt128(period.nanoseconds) * UInt128(step))
            .quotientAndRemainder(dividingBy: UInt128(period.count))
        guard quotient <= UInt64.max else { return nil }
        return UInt64(clamping: remainder > 0 ? quotient + 1 : quotient)
    }

    private func exactStep(_ period: Period, _ elapsed: UInt64) -> UInt64 {
        UInt64(clamping: UInt128(elapsed) * UInt128(period.count) / UInt128(period.nanoseconds))
    }

    /// A number of any magnitude: from 1 to a random power of two, with an exponent in `bits`.
    private func magnitude(_ bits: ClosedRange<Int>, _ random: inout SeededGenerator) -> UInt64 {
        .random(in: 1...(1 << UInt64(Int.random(in: bits, using: &random))), using: &random)
    }
}

/// The first instant after now that is a whole number of periods from another instant.
struct PeriodAlignmentTests {
    @Test func allSmallAndSomeLargeNumbersAgreeWithWideArithmetic() {
        var random = SeededGenerator(seed: 1)
        var cases: [(UInt64, UInt64, UInt64)] = []
        for number in 0..<8_649 as Range<UInt64> { cases.append((number % 9 + 1, number / 9 % 31, number / 279)) }
        for _ in 0..<20_000 {
            // Numbers of all magnitudes, small ones as likely as large ones.
            let numbers = (0..<3).map { _ in random.next() >> UInt64.random(in: 0...63, using: &random) }
            cases.append((max(numbers[0], 1), numbers[1], numbers[2]))
        }
        let wrong = cases.filter { period, now, instant in
            let next = Period(nanoseconds: period).next(after: now, alignedTo: instant)
            return next != wide(period, after: now, alignedTo: instant)
        }
        #expect(wrong.map { "\($0)" } == [])
    }

    @Test func neverIsAlignedToNothingButItself() {
        let cases: [(UInt64, UInt64)] = [(5, .max), (.max, .max), (.max, 0)]
        #expect(cases.map { Period(nanoseconds: 7).next(after: $0, alignedTo: $1) } == [.max, .max, .max])
    }

    private func wide(_ period: UInt64, after now: UInt64, alignedTo instant: UInt64) -> UInt64 {
        let (period, now, phase) = (UInt128(period), UInt128(now), UInt128(instant % period))
        let next = now < phase ? phase : phase + ((now - phase) / period + 1) * period
        return UInt64(clamping: next)
    }
}
