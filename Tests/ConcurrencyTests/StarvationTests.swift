import Synchronization
import TestSupport
import Testing

/// A test on a real clock that fails on a starved machine is repeated once, in sight.
@Suite struct StarvationTests {
    @Test func aFailureIsRepeatedOnceIfTheMachineIsStarved() async throws {
        var counts = [try await runs(failing: [], isStarved: true), try await runs(failing: [1], isStarved: true)]
        await withKnownIssue { counts.append(try await runs(failing: [1, 2], isStarved: true)) }
        await withKnownIssue { counts.append(try await runs(failing: [1], isStarved: false)) }
        #expect(counts == [1, 2, 2, 1])
    }

    /// How often a test ran that fails in the given runs.
    private func runs(failing: Set<Int>, isStarved: Bool) async throws -> Int {
        let runs = Atomic(0)
        let test = { @Sendable in
            let run = runs.add(1, ordering: .relaxed).newValue
            if failing.contains(run) { Issue.record("run \(run)") }
        }
        try await repeatedIfStarved({ isStarved }, test: test)
        return runs.load(ordering: .relaxed)
    }
}
