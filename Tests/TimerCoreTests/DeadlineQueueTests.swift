#if DEBUG
import Testing
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
#endif
