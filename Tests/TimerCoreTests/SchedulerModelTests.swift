import Testing

/// The scheduler against a naive one, operation by operation.
struct SchedulerModelTests {
    @Test(arguments: 0..<4)
    func tenThousandRandomOperationsAgreeWithANaiveModel(seed: Int) {
        let seen = agree(seed: seed, capacity: 40)
        // The operations did meet each other.
        let branches: Set = [
            "again", "completes", "hasEnded", "waits", "void", "missed", "extra", "set", "repeat", "portion",
            "postponed", "close", "goes on",
        ]
        #expect(branches.subtracting(seen) == [])
    }

    /// Among many timers some timer is nearly always due. Alone, a timer meets early firings and an alarm with nothing to
    /// wait for.
    @Test(arguments: 1...3)
    func aFewTimersAgreeWithANaiveModel(capacity: Int) {
        let seen = agree(seed: capacity, capacity: capacity)
        #expect(seen.isSuperset(of: ["goes on", "disarmed", "set"]))
    }

    /// Does ten thousand random operations, and returns the branches that were taken.
    private func agree(seed: Int, capacity: Int) -> Set<String> {
        var run = ModelRun(seed: UInt64(seed), capacity: capacity)
        for _ in 0..<10_000 where run.difference == nil { run.operate() }
        run.settle()
        #expect(run.difference == nil)
        #expect(run.unaccounted == 0)
        return run.seen
    }
}
