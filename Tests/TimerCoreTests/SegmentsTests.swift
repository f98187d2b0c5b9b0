#if DEBUG
import TestSupport
import Testing
@testable import TimerCore

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
    @Test func aShrinkingListReleasesMemory() async {
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
    @Test func oneEmptySegmentIsKept() async {
        await #expect(processExitsWith: .success) {
            var list = Segments<Page>()
            for _ in 0..<2_048 { list.append(Page()) }
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
