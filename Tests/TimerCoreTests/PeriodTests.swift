import PreciseTimer
import TestSupport
import Testing
import TimerKernel

// Steps, grids and alignment, compared with 128-bit arithmetic, which cannot overflow here.

/// A grid's deadlines are computed from their step.
struct GridTests {
    @Test func deadlinesAreTheOriginPlusMultiplesOfThePeriod() {
        let grid = Grid(300, Period(nanoseconds: 300))
        #expect([0, 2, 1_000_000_000].map(grid.deadline) == [300, 900, 300_000_000_300])
        #expect([300, 599, 600, 951].map(grid.latestStep) == [0, 0, 1, 2])
        // Those too far away are never.
        let (late, nanosecond) = (Grid(.max - 1, Period(nanoseconds: 2)), Grid(0, Period(nanoseconds: 1)))
        let steps = [late.deadline(1), late.deadline(.max), nanosecond.deadline(.max - 1), nanosecond.deadline(.max)]
        let most = UInt64.max
        #expect(steps == [most, most, most - 1, most])
    }
}

/// The length of a step is exact, even if it is not a whole number of nanoseconds.
struct PeriodTests {
    @Test func anOffsetIsRoundedUpSoThatNoTickIsEarly() {
        let third = Period(nanoseconds: 10, count: 3)
        let (offsets, steps): ([UInt64], [UInt64]) = ([0, 4, 7, 10, 14], [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3])
        #expect((0...4).map(third.offset(ofStep:)) == offsets)
        #expect((0...10).map(third.latestStep(within:)) == steps)
    }

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

    @Test(arguments: [1, 7, .max] as [UInt64])
    func neverIsAlignedToNothingButItself(length: UInt64) {
        let period = Period(nanoseconds: length)
        let cases: [(UInt64, UInt64)] = [(5, .max), (.max, .max), (.max, 0)]
        #expect(cases.map { period.next(after: $0, alignedTo: $1) } == [.max, .max, .max])
    }

    private func wide(_ period: UInt64, after now: UInt64, alignedTo instant: UInt64) -> UInt64 {
        let (period, now, phase) = (UInt128(period), UInt128(now), UInt128(instant % period))
        let next = now < phase ? phase : phase + ((now - phase) / period + 1) * period
        return UInt64(clamping: next)
    }
}
