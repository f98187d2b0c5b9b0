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
}
#endif
