import Foundation
import PreciseTimer
import TestSupport
import Testing

/// Compares the library on virtual time, step by step through the public interface, with a naive model of
/// its contract.
///
/// A million steps in a thorough run.
@Suite(.timeLimit(.minutes(60))) struct PublicModelTests {
    static let runs = Effort.of(40, thorough: 4_000, inDebug: 400)
    static let stepsPerRun = 250
    /// The first of other seeds, to hunt for rare differences: `make hunt`.
    static let hunted = ProcessInfo.processInfo.environment["PRECISE_TIMER_SEED"].flatMap(UInt64.init)

    @Test(arguments: 0..<2)
    func randomStepsOfFixedSeedsAgreeWithTheContract(part: Int) {
        let seen = agree(seeds: (0..<Self.runs / 2).map { UInt64(part * Self.runs + $0) })
        #expect(seen.isSuperset(of: Self.branches), "all branches were taken; \(seen.sorted())")
    }

    @Test(.enabled(if: hunted != nil, "make hunt sets PRECISE_TIMER_SEED"), arguments: 0..<2)
    func randomStepsOfOtherSeedsAgreeWithTheContract(part: Int) {
        let first = (Self.hunted ?? 0) &+ UInt64(part * Self.runs)
        _ = agree(seeds: (0..<Self.runs).map { first &+ UInt64($0) })
    }

    @Test func aDifferenceIsShrunkToTheStepsThatShowIt() {
        var generator = StepGenerator(seed: 7, clock: .suspending)
        let steps = generator.steps(100) + [.pause(3)] + generator.steps(100) + [.advance(800)]
        let find = { (steps: [Step]) in
            let isThere =
                steps.contains(.pause(3)) && steps.contains { if case .advance(100...) = $0 { true } else { false } }
            return isThere ? Difference(steps: steps, clock: .suspending, text: "") : nil
        }
        let shrunk = Difference(steps: steps, clock: .suspending, text: "").shrunk(find)
        #expect(Set(shrunk.steps) == [.pause(3), .advance(100)])
    }

    /// Expects that library and model agree for each seed; returns the branches that the model took.
    private func agree(seeds: [UInt64]) -> Set<String> {
        var seen: Set<String> = []
        for seed in seeds {
            guard let difference = Difference.find(seed: seed, count: Self.stepsPerRun, seen: &seen) else { continue }
            Issue.record("seed \(seed): \(difference.shrunk())")
            break
        }
        return seen
    }

    /// The branches that random steps must take to make the comparison meaningful.
    private static let branches: Set<String> = [
        "again", "cancelled", "completed", "ended inside", "ends after its count", "extra", "fault", "handle released",
        "missed", "refused", "rescheduled in delivery", "rests", "rests after its count", "shut down", "spare round",
        "target released", "void",
    ]
}
