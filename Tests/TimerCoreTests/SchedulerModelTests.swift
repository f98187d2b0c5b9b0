import Testing

/// The scheduler against a naive one, operation by operation.
struct SchedulerModelTests {
    @Test(arguments: 0..<4)
    func tenThousandRandomOperationsAgreeWithANaiveModel(seed: Int) {
        var run = ModelRun(seed: UInt64(seed))
        for _ in 0..<10_000 where run.difference == nil { run.operate() }
        run.settle()
        #expect(run.difference == nil)
        #expect(run.unaccounted == 0)
        // That the operations did meet each other.
        let branches: Set = [
            "again", "completes", "hasEnded", "waits", "void", "missed", "extra", "set", "repeat", "portion",
            "postponed", "close", "goes on",
        ]
        #expect(branches.subtracting(run.seen) == [])
    }
}
