import TimerCore

/// What the deadline queue's operations cost, by its size.
enum QueueBenchmarks {
    static func run() throws {
        for count in [1_000, 100_000, 1_000_000] {
            let sample = QueueSample(count: count)
            try Harness.compare(
                "deadline queue of \(count) entries, nanoseconds per operation",
                rounds: 5,
                doTheSame: false,
                [
                    Side(name: "push") { sample.average { queue in sample.pushAll(to: &queue) } },
                    Side(name: "pop") { sample.averageOnFull { queue in while queue.popFirst() != nil {} } },
                    Side(name: "remove") { sample.averageOnFull { queue in sample.removeAll(from: &queue) } },
                    Side(name: "move") { sample.averageOnFull { queue in sample.moveAll(in: &queue) } },
                ]
            )
        }
    }
}

/// A queue's worth of random deadlines.
private struct QueueSample {
    private let deadlines: [UInt64]
    /// The slots in random order.
    private let slots: [Slot]

    init(count: Int) {
        var random = SystemRandomNumberGenerator()
        deadlines = (0..<count).map { _ in random.next() >> 1 }
        slots = (0..<count).shuffled(using: &random).map(Slot.init)
    }

    /// Nanoseconds per operation on an empty queue; small ones many times over, so that it stands for 200,000.
    func average(_ operations: (inout DeadlineQueue) -> Void) -> Double {
        average(preparing: { _ in }, operations)
    }

    /// The same on a queue that has them all.
    func averageOnFull(_ operations: (inout DeadlineQueue) -> Void) -> Double {
        average(preparing: pushAll, operations)
    }

    func pushAll(to queue: inout DeadlineQueue) {
        for (number, deadline) in deadlines.enumerated() {
            queue.push(Slot(number), at: deadline, sequence: UInt64(number))
        }
    }

    func removeAll(from queue: inout DeadlineQueue) {
        for slot in slots { _ = queue.remove(slot) }
    }

    func moveAll(in queue: inout DeadlineQueue) {
        for slot in slots { _ = queue.move(slot, to: deadlines[slot.position] ^ 0xffff_ffff, sequence: 0) }
    }

    private func average(
        preparing prepare: (inout DeadlineQueue) -> Void,
        _ operations: (inout DeadlineQueue) -> Void
    ) -> Double {
        let repetitions = max(1, 200_000 / deadlines.count)
        var total = 0.0
        for _ in 0..<repetitions {
            var queue = DeadlineQueue()
            prepare(&queue)
            total += Harness.time { operations(&queue) }
        }
        return total / Double(repetitions * deadlines.count)
    }
}
