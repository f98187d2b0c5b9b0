import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// The length of a step is exact, even if it is not a whole number of nanoseconds. The tests compare it with 128-bit
/// arithmetic, which cannot overflow here.
struct PeriodTests {
    @Test(arguments: [(60, 1), (30_000, 1_001), (44_100, 1), (3, 1), (1, 1)])
    func aBillionStepsOfARateAreExactToTheNanosecond(count: UInt64, seconds: UInt64) {
        let period = Period(nanoseconds: seconds * 1_000_000_000, count: count)
        for step in [1, 2, 3, count - 1, count, count + 1, 999_999_999, 1_000_000_000, 1_000_000_001] as [UInt64] {
            #expect(period.offset(ofStep: step) == exactOffset(period, step))
        }
        #expect(period.offset(ofStep: 0) == 0)
        // These steps take whole seconds, so there is nothing to round.
        #expect(period.offset(ofStep: count * 1_000) == seconds * 1_000_000_000_000)
    }

    @Test func anOffsetIsRoundedUpSoThatNoTickIsEarly() {
        let third = Period(nanoseconds: 10, count: 3)
        #expect((0...4).map { third.offset(ofStep: $0) } == [0, 4, 7, 10, 14])
        #expect((0...10).map { third.latestStep(within: $0) } == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3])
    }

    @Test(arguments: 0..<4)
    func randomPeriodsAgreeWithWideArithmeticAndWithThemselves(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var disagreements: [Period] = []
        for _ in 0..<5_000 {
            // Numbers of all magnitudes, small ones as likely as large ones.
            let period = Period(nanoseconds: magnitude(1...62, &random), count: magnitude(1...40, &random))
            let (step, elapsed) = (magnitude(1...63, &random), magnitude(1...63, &random))
            let (offset, latest) = (period.offset(ofStep: step), period.latestStep(within: elapsed))
            var agrees = offset == exactOffset(period, step) && latest == exactStep(period, elapsed)
            if let offset, offset != .max {
                agrees = agrees && period.latestStep(within: offset) >= step
                agrees = agrees && (offset == 0 || period.latestStep(within: offset - 1) < step)
            }
            if latest != .max {
                agrees = agrees && period.offset(ofStep: latest).map { $0 <= elapsed } ?? false
                agrees = agrees && period.offset(ofStep: latest + 1).map { $0 > elapsed } ?? true
            }
            if !agrees { disagreements.append(period) }
        }
        #expect(disagreements == [])
    }

    @Test func offsetsAndStepsThatOverflowSaturate() {
        let hour = Period(nanoseconds: 3_600_000_000_000)
        #expect(hour.offset(ofStep: .max) == nil)
        #expect(hour.offset(ofStep: .max / 3_600_000_000_000) == exactOffset(hour, .max / 3_600_000_000_000))
        #expect(hour.offset(ofStep: .max / 3_600_000_000_000 + 1) == nil)
        let dense = Period(nanoseconds: 1, count: 2)
        #expect(dense.latestStep(within: .max / 2) == UInt64.max - 1)
        #expect(dense.latestStep(within: .max / 2 + 1) == .max)
        #expect(dense.latestStep(within: .max) == .max)
        // The exact offset is half a nanosecond above the largest number: it saturates and does not wrap around.
        #expect(Period(nanoseconds: 31, count: 2).offset(ofStep: 1_190_112_520_884_487_201) == UInt64.max)
    }

    @Test func thePeriodsLengthIsTruncatedToWholeAttoseconds() {
        #expect(Period(nanoseconds: 300).duration == .nanoseconds(300))
        let sixtieth = Period(nanoseconds: 1_000_000_000, count: 60).duration
        #expect(sixtieth == Duration(secondsComponent: 0, attosecondsComponent: 16_666_666_666_666_666))
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

    /// A random number from 1 to a random power of two, with an exponent in `bits`.
    private func magnitude(_ bits: ClosedRange<Int>, _ random: inout SeededGenerator) -> UInt64 {
        .random(in: 1...(1 << UInt64(Int.random(in: bits, using: &random))), using: &random)
    }
}

/// The first instant after now that is a whole number of periods from another instant.
struct PeriodAlignmentTests {
    @Test func smallNumbersAgreeWithANaiveSearch() {
        for period in 1...9 as ClosedRange<UInt64> {
            for now in 0...30 as ClosedRange<UInt64> {
                for instant in 0...30 as ClosedRange<UInt64> {
                    let next = Period(nanoseconds: period).next(after: now, alignedTo: instant)
                    #expect(next == naive(period, after: now, alignedTo: instant), "\(period), \(now), \(instant)")
                }
            }
        }
    }

    @Test(arguments: 0..<2)
    func largeNumbersAgreeWithWideArithmetic(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<10_000 {
            // Numbers of all magnitudes, small ones as likely as large ones.
            let numbers = (0..<3).map { _ in random.next() >> UInt64.random(in: 0...63, using: &random) }
            let (period, now, instant) = (max(numbers[0], 1), numbers[1], numbers[2])
            let next = Period(nanoseconds: period).next(after: now, alignedTo: instant)
            if next != wide(period, after: now, alignedTo: instant) { Issue.record("\(period), \(now), \(instant)") }
        }
    }

    @Test func nowItselfIsNotAfterNow() {
        #expect(Period(nanoseconds: 10).next(after: 30, alignedTo: 0) == 40)
        #expect(Period(nanoseconds: 10).next(after: 30, alignedTo: 30) == 40)
        #expect(Period(nanoseconds: 10).next(after: 30, alignedTo: 50) == 40)
        #expect(Period(nanoseconds: 10).next(after: 29, alignedTo: 50) == 30)
    }

    @Test func anInstantTooFarAwayIsNever() {
        #expect(Period(nanoseconds: .max).next(after: 5, alignedTo: 3) == UInt64.max)
        #expect(Period(nanoseconds: .max - 2).next(after: 5, alignedTo: 3) == UInt64.max)
        #expect(Period(nanoseconds: 1 << 63).next(after: 1 << 63, alignedTo: 0) == UInt64.max)
        #expect(Period(nanoseconds: 1_000).next(after: .max - 1, alignedTo: 0) == UInt64.max)
        #expect(Period(nanoseconds: .max).next(after: 5, alignedTo: 6) == 6)
    }

    @Test(arguments: [1, 7, .max] as [UInt64])
    func neverIsAlignedToNothingButItself(period: UInt64) {
        #expect(Period(nanoseconds: period).next(after: 5, alignedTo: .max) == UInt64.max)
        #expect(Period(nanoseconds: period).next(after: .max, alignedTo: .max) == UInt64.max)
        #expect(Period(nanoseconds: period).next(after: .max, alignedTo: 0) == UInt64.max)
    }

    private func naive(_ period: UInt64, after now: UInt64, alignedTo instant: UInt64) -> UInt64 {
        var next = instant % period
        while next <= now { next += period }
        return next
    }

    private func wide(_ period: UInt64, after now: UInt64, alignedTo instant: UInt64) -> UInt64 {
        if instant == .max { return .max }
        let (period, now, phase) = (UInt128(period), UInt128(now), UInt128(instant % period))
        let next = now < phase ? phase : phase + ((now - phase) / period + 1) * period
        return UInt64(clamping: next)
    }
}
