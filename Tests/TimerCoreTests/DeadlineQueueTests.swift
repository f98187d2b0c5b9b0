#if DEBUG
import TestSupport
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

    @Test func theEarliestDeadlineComesFirst() {
        var queue = DeadlineQueue()
        #expect(queue.first == nil && queue.firstInstant == .max, "the queue is empty")
        let timers = (0..<3).map(timer)
        for (timer, nanoseconds) in zip(timers, [30, 10, 20] as [UInt64]) { queue.push(timer, at: nanoseconds) }
        #expect(queue.firstInstant == 10)
        #expect(popAll(&queue) == [(10, 1), (20, 2), (30, 0)].map { Waiting(nanoseconds: $0, timer: timers[$1]) })
    }

    @Test func equalDeadlinesComeInTheOrderOfScheduling() {
        var queue = DeadlineQueue()
        let timers = (0..<100).map { timer($0 * 37 % 100) }
        for timer in timers { queue.push(timer, at: 7) }
        #expect(popAll(&queue).map(\.timer) == timers.sorted { $0.sequence < $1.sequence })
    }

    @Test(arguments: 0..<20)
    func randomOperationsAgreeWithASortedList(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var queue = DeadlineQueue()
        var model: [Waiting] = []
        for sequence in 0..<2_000 {
            let nanoseconds = UInt64.random(in: 0..<50, using: &random)
            let known = model.indices.randomElement(using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3:
                let timer = timer(sequence)
                queue.push(timer, at: nanoseconds)
                model.append(Waiting(nanoseconds: nanoseconds, timer: timer))
            case 3, 4:
                guard let known else { continue }
                queue.hasten(model[known].timer, to: nanoseconds)
                model[known].nanoseconds = min(nanoseconds, model[known].nanoseconds)
            case 5:
                if let known { queue.remove(model.remove(at: known).timer) }
            default:
                let earliest = model.min { $0.precedes($1) }
                #expect(pop(&queue) == earliest)
                model.removeAll { $0 == earliest }
            }
            #expect(queue.count == model.count)
            if let broken = queue.brokenInvariant { Issue.record("\(broken)") }
        }
        #expect(popAll(&queue) == model.sorted { $0.precedes($1) })
    }

    @Test func aThousandTimersCanBeRemovedFromTheMiddle() {
        var queue = DeadlineQueue()
        let timers = (0..<3_000).map(timer)
        for timer in timers { queue.push(timer, at: timer.sequence * 7919 % 3_000) }
        for timer in timers where timer.sequence % 3 == 0 { queue.remove(timer) }
        #expect(queue.brokenInvariant == nil)
        let left = popAll(&queue)
        #expect(left.count == 2_000)
        #expect(left.allSatisfy { $0.timer.sequence % 3 != 0 })
        #expect(timers.allSatisfy { $0.position == -1 })
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

    private func popAll(_ queue: inout DeadlineQueue) -> [Waiting] {
        var popped: [Waiting] = []
        while let next = pop(&queue) { popped.append(next) }
        return popped
    }
}
#endif
