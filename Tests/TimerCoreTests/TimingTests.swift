import PreciseTimer
import Testing

/// When one timer ticks, as a value: what the model of the public interface does not know. That is the end of time, and
/// chance.
final class TimingTests {
    private var timing = Timing()
    private var random = SeededGenerator(seed: 1)

    @Test func numbersAndDeadlinesSaturate() {
        begin(every(.max / 2, from: .max / 2))
        #expect(ticks(at: .max / 2, .max - 1, .max) == [due(0, .max / 2), due(1, .max - 1), nil])
        begin(every(1, from: 0))
        #expect(ticks(at: .max - 1) == [due(0, 0, .max - 1, missed: .max - 2)], "just below the marks")
        begin(ResolvedSchedule(.at(.max - 5), .rate(1, per: 10)))
        #expect(ticks(at: .max, .max) == [due(0, .max - 5), nil] && timing.nextDeadline == .max)
        begin(ResolvedSchedule(.at(1), .fixedDelay(.max)))
        #expect(ticks(at: 1) == [due(0, 1)])
        timing.handlerReturned(at: 2)
        #expect(timing.nextDeadline == .max && !timing.countsFromReturn, "never, and not unknown")
        #expect(timing.restart(at: 5, using: &random) && timing.fixedDelay == .max && timing.nextDeadline == .max)
    }

    /// A loop over the deadlines would not come to an end.
    @Test func aStartFarInThePastIsCountedAtOnce() {
        let now: UInt64 = 1_000_000_000_000_000
        timing = Timing(burstLimit: 3)
        begin(every(1, from: 0))
        #expect(ticks(at: now, now, now) == [due(0, 0), due(1, 1), due(2, 2, now, missed: now - 2)])
        timing = Timing(restartsLate: true)
        begin(every(1, from: 0))
        #expect(ticks(at: now) == [due(0, 0, now, missed: now)])
    }

    @Test func theLastInstantIsTheDeadlinePlusTheToleranceExactly() {
        let all: [(tolerance: UInt64, deadline: UInt64, lastInstant: UInt64)] = [
            (0, 1_001, 1_001), (1, 1_001, 1_002), (19, 1_001, 1_020), (90_000_007, 1_001, 90_001_008),
            (.max >> 1, 5, .max >> 1 + 5), (.max, 5, .max - 1), (.max, .max - 2, .max - 1),
            (1, .max - 1, .max - 1), (.max, .max, .max), (0, .max, .max),
        ]
        for (tolerance, deadline, lastInstant) in all {
            timing = Timing(tolerance: tolerance)
            begin(once(at: deadline))
            #expect([timing.lastInstant, timing.nextDeadline] == [lastInstant, deadline], "\(tolerance)")
        }
    }

    @Test func aRestartWithASpanThatIsShorterThanAStepHasOneDeadline() {
        begin(ResolvedSchedule(.after(5), .every(10), .init(span: 7)))
        #expect(timing.restart(at: 1_000, using: &random) && deadlines(2) == [1_010])
    }

    @Test func aSpreadMovesAllDeadlinesAlikeAndAJitterEachByItself() {
        var firsts: Set<UInt64> = []
        for _ in 0..<200 {
            begin(ResolvedSchedule(.after(100), .every(30), .init(spread: 9)), at: 1_000)
            let all = deadlines(3)
            firsts.insert(all[0])
            #expect(all == [all[0], all[0] + 30, all[0] + 60])
            #expect(timing.restart(at: 2_000, using: &random) && timing.nextDeadline == 2_030, "without the spread")
        }
        #expect(firsts == Set(1_100...1_109))
        begin(ResolvedSchedule(.at(0), .every(100), .init(jitter: 9)))
        let delays = deadlines(300).enumerated().map { $1 - UInt64($0) * 100 }
        #expect(Set(delays) == Set(0...9), "the grid stays")
    }

    // MARK: Helpers

    private func begin(_ schedule: ResolvedSchedule, at now: UInt64 = 0) {
        timing.begin(schedule, at: now, using: &random)
    }

    /// What is due at some instants.
    private func ticks(at instants: UInt64...) -> [Expiration?] { instants.map { timing.takeTick(at: $0) } }

    /// The next deadlines, each of which has its tick at once.
    private func deadlines(_ count: Int) -> [UInt64] {
        (0..<count).compactMap { _ in timing.takeTick(at: timing.nextDeadline)?.deadline }
    }
}

private func due(_ index: UInt64, _ deadline: UInt64, _ latest: UInt64? = nil, missed: UInt64 = 0) -> Expiration {
    Expiration(index: index, deadline: deadline, span: latest.map { $0 - deadline } ?? 0, missed: missed)
}
