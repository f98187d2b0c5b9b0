#if DEBUG
import Testing
import TestSupport
@testable import PreciseTimer

/// Compares the queue with an obviously right model, a sorted list.
struct DeadlineQueueTests {
    private struct Waiting: Equatable {
        var nanoseconds: UInt64
        let timer: TimerRecord

        func precedes(_ other: Waiting) -> Bool {
            (nanoseconds, timer.sequence) < (other.nanoseconds, other.timer.sequence)
        }
    }

    /// The queue grows first, and then shrinks.
    @Test(arguments: 0..<10)
    func randomOperationsAgreeWithASortedList(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var queue = DeadlineQueue()
        var model: [Waiting] = []
        for sequence in 0..<2_000 {
            let nanoseconds = UInt64.random(in: 0..<50, using: &random)
            let known = model.indices.randomElement(using: &random)
            switch Int.random(in: 0..<(sequence < 800 ? 6 : 9), using: &random) {
            case 0..<3:
                let timer = timer(sequence)
                queue.push(DeadlineQueue.Element(timer, at: nanoseconds))
                model.append(Waiting(nanoseconds: nanoseconds, timer: timer))
            case 3, 4:
                guard let known else { continue }
                let element = DeadlineQueue.Element(model[known].timer, at: nanoseconds)
                if sequence % 2 == 0 {
                    queue.hasten(to: element)
                    model[known].nanoseconds = min(nanoseconds, model[known].nanoseconds)
                } else {
                    queue.move(to: element)
                    model[known].nanoseconds = nanoseconds
                }
            case 5:
                guard let known else { continue }
                let timer = model.remove(at: known).timer
                queue.remove(timer)
                #expect(timer.position == -1)
            default:
                let earliest = model.min { $0.precedes($1) }
                #expect(pop(&queue) == earliest)
                model.removeAll { $0 == earliest }
            }
            #expect(queue.count == model.count && queue.brokenInvariant == nil)
        }
        let left = (0..<queue.count).compactMap { _ in pop(&queue) }
        #expect(left == model.sorted { $0.precedes($1) } && queue.first == nil)
    }

    private func timer(_ sequence: Int) -> TimerRecord {
        let timer = TimerRecord()
        timer.sequence = UInt64(sequence)
        return timer
    }

    private func pop(_ queue: inout DeadlineQueue) -> Waiting? {
        guard let first = queue.first else { return nil }
        queue.remove(first.timer)
        return Waiting(nanoseconds: first.nanoseconds, timer: first.timer)
    }
}

/// Which timers a list retains, and which are marked.
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
            #expect(weak[1]() == nil && list.count == 2_999)
        }
        #expect(weak.allSatisfy { $0() == nil })
    }

    /// The others, of which one is removed first, change nothing of the marked ones, which are the first.
    @Test(arguments: 1...5, 0...2)
    func markedTimersOfAListAndOfAGroupMayBeRemovedInAnyOrder(marked: Int, others: Int) {
        for order in orders(of: Array(0..<marked)) {
            var list = TimerList()
            var group = TimerGroup()
            let timers = (0..<marked + others + 1).map { _ in TimerRecord() }
            for (number, timer) in timers.enumerated() {
                if number == marked {
                    list.close()
                    group.markAll()
                }
                list.append(timer)
                group.append(timer, at: 0)
            }
            for (removed, number) in ([marked + others] + order).enumerated() {
                let places = timers.map(\.listPosition)
                list.remove(timers[number])
                // Nobody who goes from the end to the beginning misses a timer.
                #expect(zip(timers, places).allSatisfy { $0.listPosition <= $1 })
                group.remove(timers[number])
                let left = (0..<list.count).map { list[$0] }
                #expect(left.map { Int($0.listPosition) } == Array(left.indices) && group.count == left.count)
                #expect((0..<group.count).map { Int(group[$0].position) } == Array(left.indices))
                let stillMarked = Set(order[removed...])
                let closing = left.filter { $0.listPosition < list.closing }.map { timers.firstIndex(of: $0) }
                let first = (0..<Int(group.mark)).map { timers.firstIndex(of: group[$0]) }
                #expect(Set(closing) == stillMarked && Set(first) == stillMarked)
            }
        }
    }

    private func orders(of numbers: [Int]) -> [[Int]] {
        if numbers.isEmpty { return [[]] }
        return numbers.flatMap { first in orders(of: numbers.filter { $0 != first }).map { [first] + $0 } }
    }
}

/// A list of plain values that grows and shrinks by segments.
struct SegmentsTests {
    @Test func valuesSurviveGrowthAndShrinking() {
        var list = Segments<Int>()
        for value in 0..<10_000 { list.append(value) }
        for _ in 0..<7_000 { list.removeLast() }
        #expect((0..<list.count).map { list[$0] } == Array(0..<3_000))
    }

    /// In a process of its own, so that no other test allocates meanwhile. A list that grows and shrinks by one value
    /// at the end of a segment must not allocate each time.
    @Test func aShrinkingListReleasesAllMemoryButOneSegment() async {
        await #expect(processExitsWith: .success) {
            var list = Segments<Page>()
            let before = ProcFS.residentBytes
            for _ in 0..<2_045 { list.append(Page()) }
            let full = ProcFS.residentBytes
            for _ in 0..<1_100 { list.removeLast() }
            let spare = full - ProcFS.residentBytes
            #expect(spare < 2 << 20, "a segment of 4 MB is still there, and \(spare) bytes are not")
            while list.count < 10_000 { list.append(Page()) }
            let grown = ProcFS.residentBytes - before
            while list.count > 0 { list.removeLast() }
            let left = ProcFS.residentBytes - before
            #expect(grown > 38 << 20 && left < grown / 5, "\(left) of \(grown) bytes remain")
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
