#if DEBUG
import TestSupport
import Testing
@testable import TimerCore

/// A list of plain values that grows and shrinks by segments keeps them all.
struct SegmentsTests {
    @Test func tenThousandValuesAreKeptThroughGrowthAndShrinking() {
        var list = Segments<Int>()
        for round in 0..<2 {
            for value in 0..<10_000 { list.append(value * 3 + round) }
            #expect(list.count == 10_000)
            #expect((0..<10_000).allSatisfy { list[$0] == $0 * 3 + round })
            var lost = 0
            while list.count > 0 {
                if list[list.count - 1] != (list.count - 1) * 3 + round { lost += 1 }
                list.removeLast()
            }
            #expect(lost == 0)
        }
    }

    @Test func aValueIsChangedInItsPlace() {
        var list = Segments<Int>()
        for value in 0..<5_000 { list.append(value) }
        for position in stride(from: 0, to: 5_000, by: 1_023) { list[position] = -1 }
        #expect((0..<5_000).allSatisfy { list[$0] == ($0 % 1_023 == 0 ? -1 : $0) })
    }

    @Test func aListThatSwaysAroundTheEndOfASegmentKeepsItsValues() {
        var list = Segments<Int>()
        for value in 0..<2_048 { list.append(value) }
        for round in 0..<100 {
            for value in 0...round { list.append(value) }
            for _ in 0...round * 2 where list.count > 2_000 { list.removeLast() }
        }
        #expect((0..<2_000).allSatisfy { list[$0] == $0 })
    }

    /// In a process of its own, so that no other test allocates meanwhile.
    @Test func memoryGoesBackWhenAListShrinks() async {
        await #expect(processExitsWith: .success) {
            var list = Segments<SIMD64<UInt64>>()
            let before = ProcFS.residentBytes
            for value in 0..<10_000 { list.append(SIMD64(repeating: UInt64(value))) }
            let grown = ProcFS.residentBytes - before
            while list.count > 0 { list.removeLast() }
            let left = ProcFS.residentBytes - before
            #expect(grown > 10_000 * 512 && left < grown / 5, "\(left) of \(grown) bytes are left")
        }
    }
}
#endif
