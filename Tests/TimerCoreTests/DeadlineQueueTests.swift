import TestSupport
import Testing
import TimerCore

/// The queue against a model that cannot be wrong: a sorted list.
struct DeadlineQueueTests {
    @Test func theEarliestDeadlineComesFirst() {
        var queue = DeadlineQueue()
        for (slot, nanoseconds) in [30, 10, 20].enumerated() {
            queue.push(Slot(slot), at: UInt64(nanoseconds), sequence: UInt64(slot))
        }
        #expect(popAll(&queue).map(\.nanoseconds) == [10, 20, 30])
    }

    @Test func equalDeadlinesComeInTheOrderOfScheduling() {
        var queue = DeadlineQueue()
        for slot in 0..<100 { queue.push(Slot(slot), at: 7, sequence: UInt64(slot * 37 % 100)) }
        #expect(popAll(&queue).map(\.sequence) == Array(0..<100))
    }

    @Test func anEmptyQueueHasNothing() {
        var queue = DeadlineQueue()
        #expect(queue.first == nil)
        #expect(queue.popFirst() == nil)
        #expect(queue.remove(Slot(3)) == false)
        #expect(queue.move(Slot(3), to: 1, sequence: 1) == false)
        #expect(queue.contains(Slot(3)) == false)
    }

    @Test(arguments: 0..<20)
    func randomOperationsAgreeWithASortedList(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var queue = DeadlineQueue()
        var model: [DeadlineQueue.Element] = []
        for sequence in 0..<2_000 {
            let slot = Slot(Int.random(in: 0..<200, using: &random))
            let nanoseconds = UInt64.random(in: 0..<50, using: &random)
            let known = model.firstIndex { $0.slot == slot }
            let element = DeadlineQueue.Element(nanoseconds: nanoseconds, sequence: UInt64(sequence), slot: slot)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                if let known {
                    #expect(queue.move(slot, to: nanoseconds, sequence: UInt64(sequence)) == true)
                    model[known] = element
                } else {
                    queue.push(slot, at: nanoseconds, sequence: UInt64(sequence))
                    model.append(element)
                }
            case 2:
                #expect(queue.remove(slot) == (known != nil))
                if let known { model.remove(at: known) }
            default:
                let earliest = model.min { $0.precedes($1) }
                #expect(queue.popFirst() == earliest)
                model.removeAll { $0 == earliest }
            }
            #expect(queue.count == model.count)
            if let broken = queue.brokenInvariant { Issue.record("\(broken)") }
        }
        #expect(popAll(&queue) == model.sorted { $0.precedes($1) })
    }

    @Test func aThousandDeadlinesAreRemovedFromTheMiddleWithoutATrace() {
        var queue = DeadlineQueue()
        for slot in 0..<1_000 { queue.push(Slot(slot), at: UInt64(slot * 7919 % 1_000), sequence: UInt64(slot)) }
        for slot in stride(from: 0, to: 1_000, by: 2) { #expect(queue.remove(Slot(slot)) == true) }
        #expect(queue.brokenInvariant == nil)
        let left = popAll(&queue)
        #expect(left.count == 500)
        #expect(left.allSatisfy { $0.slot.number % 2 == 1 })
    }

    private func popAll(_ queue: inout DeadlineQueue) -> [DeadlineQueue.Element] {
        var popped: [DeadlineQueue.Element] = []
        while let element = queue.popFirst() { popped.append(element) }
        return popped
    }
}
