import Testing

/// Compares the scheduler with a naive model, operation by operation.
struct SchedulerModelTests {
    /// A debug build runs fewer seeds, because it checks the scheduler's invariants after each operation.
    #if DEBUG
    private static let seeds = 4
    #else
    private static let seeds = 40
    #endif

    @Test(arguments: 0..<2)
    func randomOperationsOnManyTimersAgreeWithANaiveModel(part: Int) {
        let seen = agree(part: part) { _ in 40 }
        // The operations did interact in each of these ways.
        let branches: Set = [
            "again", "completes", "hasEnded", "waits", "void", "missed", "extra", "set", "repeat", "portion",
            "postponed", "close", "repetition", "spent, completes", "spent, waits", "spent, waits on demand",
        ]
        #expect(branches.subtracting(seen) == [])
    }

    /// Among many timers there is nearly always a due one. Only a few timers meet early firings, and an alarm that
    /// repeats without a timer to fire for.
    @Test(arguments: 0..<2)
    func randomOperationsOnAFewTimersAgreeWithANaiveModel(part: Int) {
        let seen = agree(part: part) { 1 + $0 % 4 }
        #expect(seen.isSuperset(of: ["repetition", "disarmed", "set"]))
    }

    /// Performs ten thousand random operations for each seed of a part, and returns the branches that they took.
    private func agree(part: Int, capacity: (Int) -> Int) -> Set<String> {
        var seen: Set<String> = []
        for seed in part * Self.seeds..<(part + 1) * Self.seeds {
            var run = ModelRun(seed: UInt64(seed), capacity: capacity(seed))
            for _ in 0..<10_000 where run.difference == nil { run.operate() }
            run.settle()
            #expect(run.difference == nil, "seed \(seed)")
            #expect(run.unaccounted == 0, "seed \(seed)")
            seen.formUnion(run.seen)
        }
        return seen
    }
}
