import Testing
import TimerCore

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
