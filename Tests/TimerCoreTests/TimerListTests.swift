import PreciseTimer
import TestSupport
import Testing

#if DEBUG
@testable import PreciseTimer

/// Which timers the list retains, which are closing, and that iteration misses no timer.
struct TimerListTests {
    @Test func aTimerIsRetainedUntilItIsRemovedOrTheListEnds() {
        var weak: [() -> TimerRecord?] = []
        do {
            var list = TimerList()
            for _ in 0..<3_000 {
                list.append(TimerRecord())
                weak.append { [weak timer = list[list.count - 1]] in timer }
            }
            #expect(weak.allSatisfy { $0() != nil })
            if let timer = weak[1]() { _ = list.remove(timer) }
            #expect(weak[1]() == nil)
            #expect(list.count == 2_999)
        }
        #expect(weak.allSatisfy { $0() == nil })
    }

    @Test func theClosedTimersAreTheFirstUntilTheyAreRemoved() {
        var list = TimerList()
        let timers = (0..<7).map { _ in TimerRecord() }
        for timer in timers[..<4] { list.append(timer) }
        list.close()
        for timer in timers[4...] { list.append(timer) }
        #expect(timers.map { $0.listPosition < list.closing } == [true, true, true, true, false, false, false])
        _ = list.remove(timers[1])
        _ = list.remove(timers[4])
        #expect(list.closing == 3)
        #expect(
            [0, 2, 3].allSatisfy { (timers[$0].listPosition < list.closing) }
                && timers[5...].allSatisfy { $0.listPosition >= list.closing }
        )
        while list.closing > 0 { _ = list.remove(list[Int(list.closing) - 1]) }
        #expect(list.count == 2)
    }

    @Test(arguments: 3...5, 0...2)
    func closedTimersMayBeRemovedInAnyOrder(closed: Int, open: Int) throws {
        for order in orders(of: Array(0..<closed)) {
            var list = TimerList()
            let timers = (0..<closed + open).map { _ in TimerRecord() }
            for timer in timers[..<closed] { list.append(timer) }
            list.close()
            for timer in timers[closed...] { list.append(timer) }
            for (removed, number) in order.enumerated() {
                _ = list.remove(timers[number])
                let isInPlace = (0..<list.count).allSatisfy { list[$0].listPosition == $0 }
                try #require(isInPlace && list.closing == closed - removed - 1, "\(order)")
                #expect(timers[closed...].allSatisfy { $0.listPosition >= list.closing }, "\(order)")
            }
            #expect(list.count == open)
        }
    }

    private func orders(of numbers: [Int]) -> [[Int]] {
        if numbers.isEmpty { return [[]] }
        return numbers.flatMap { first in orders(of: numbers.filter { $0 != first }).map { [first] + $0 } }
    }

    @Test(arguments: 0..<4)
    func backwardIterationMissesNoTimerWhileTheListChanges(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var list = TimerList()
        for _ in 0..<300 { list.append(TimerRecord()) }
        var missed = (0..<300).map { list[$0] }
        var (position, misplaced) = (list.count, 0)
        while position > 0, list.count > 0 {
            position = min(position, list.count) - 1
            missed.removeAll { $0 == list[position] }
            for _ in 0..<Int.random(in: 0..<3, using: &random) where list.count > 0 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0: list.close()
                case 1..<5: list.append(TimerRecord())
                default:
                    let leaving = list[Int.random(in: 0..<list.count, using: &random)]
                    _ = list.remove(leaving)
                    missed.removeAll { $0 == leaving }
                }
            }
            misplaced += (0..<list.count).count { list[$0].listPosition != $0 }
        }
        #expect(missed.isEmpty)
        #expect(misplaced == 0)
    }
}

/// A list of plain values that grows and shrinks by segments keeps all its values.
struct SegmentsTests {
    @Test func tenThousandValuesSurviveGrowthChangesAndShrinking() {
        var list = Segments<Int>()
        for round in 0..<2 {
            for value in 0..<10_000 { list.append(value) }
            for position in 0..<10_000 where position % 3 == 0 { list[position] += round }
            #expect((0..<10_000).allSatisfy { list[$0] == ($0 % 3 == 0 ? $0 + round : $0) })
            for _ in 0..<7_000 { list.removeLast() }
            #expect(list.count == 3_000)
            #expect((0..<3_000).allSatisfy { list[$0] == ($0 % 3 == 0 ? $0 + round : $0) })
            while list.count > 0 { list.removeLast() }
        }
    }

    /// This runs in its own process, so that no other test allocates meanwhile.
    @Test(.needsProc) func aShrinkingListReleasesMemory() async {
        await #expect(processExitsWith: .success) {
            var list = Segments<SIMD64<UInt64>>()
            let before = ProcFS.residentBytes
            for value in 0..<100_000 { list.append(SIMD64(repeating: UInt64(value))) }
            let grown = ProcFS.residentBytes - before
            while list.count > 0 { list.removeLast() }
            let left = ProcFS.residentBytes - before
            #expect(grown > 100_000 * 500 && left < grown / 5, "\(left) of \(grown) bytes remain")
        }
    }

    /// A list that grows and shrinks by one value at the end of a segment must not allocate each time.
    @Test(.needsProc) func oneEmptySegmentIsKept() async {
        await #expect(processExitsWith: .success) {
            var list = Segments<Page>()
            for _ in 0..<2_045 { list.append(Page()) }
            let full = ProcFS.residentBytes
            for _ in 0..<1_100 { list.removeLast() }
            let spare = full - ProcFS.residentBytes
            #expect(spare < 2 << 20, "a segment of 4 MB is still there, and \(spare) bytes are not")
            while list.count > 0 { list.removeLast() }
            let freed = full - ProcFS.residentBytes
            #expect(freed > 2 << 20, "\(freed) bytes were released")
        }
    }

    /// So large that a segment is a mapping of its own, which the system takes back when it is released.
    private struct Page: BitwiseCopyable {
        typealias Words = SIMD64<UInt64>
        let words: (Words, Words, Words, Words, Words, Words, Words, Words)

        init() {
            let word = Words(repeating: 1)
            words = (word, word, word, word, word, word, word, word)
        }
    }
}
#endif

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

    @Test func theSameSeedGivesTheSameNumbers() {
        for seed in [0, 1, .max] as [UInt64] {
            var (one, other) = (SeededGenerator(seed: seed), SeededGenerator(seed: seed))
            #expect((0..<100).allSatisfy { _ in one.next() == other.next() })
        }
    }

    @Test func neighbouringSeedsGiveOtherNumbers() {
        var firsts: Set<UInt64> = []
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            firsts.insert(random.next())
        }
        #expect(firsts.count == 1_000)
    }
}
