import Testing

/// The scheduler against a naive one, operation by operation.
struct SchedulerModelTests {
    /// A debug build checks the scheduler's invariants after each operation.
    #if DEBUG
    private static let seeds = 4
    #else
    private static let seeds = 100
    #endif

    @Test(arguments: 0..<2)
    func tenThousandRandomOperationsAgreeWithANaiveModel(part: Int) {
        let seen = agree(part: part) { _ in 40 }
        // The operations did meet each other.
        let branches: Set = [
            "again", "completes", "hasEnded", "waits", "void", "missed", "extra", "set", "repeat", "portion",
            "postponed", "close", "goes on",
        ]
        #expect(branches.subtracting(seen) == [])
    }

    /// Among many timers some timer is nearly always due. A few meet early firings, and an alarm without a timer to fire for.
    @Test(arguments: 0..<2)
    func aFewTimersAgreeWithANaiveModel(part: Int) {
        let seen = agree(part: part) { 1 + $0 % 4 }
        #expect(seen.isSuperset(of: ["goes on", "disarmed", "set"]))
    }

    /// Does ten thousand random operations for each seed of a part, and returns the branches that were taken.
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
