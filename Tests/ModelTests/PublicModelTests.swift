import Foundation
import PreciseTimer
import TestSupport
import Testing

/// Compares the library on virtual time, step by step through the public interface, with a naive model of
/// its contract.
///
/// A million steps in a thorough run.
@Suite(.timeLimit(.minutes(60))) struct PublicModelTests {
    static let runs = Effort.of(100, thorough: 4_000, inDebug: 400)
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
        let steps = generator.steps(100) + [.pause(3, keepsGrid: true)] + generator.steps(100) + [.advance(800)]
        let find = { (steps: [Step]) in
            let isThere =
                steps.contains(.pause(3, keepsGrid: true))
                && steps.contains { if case .advance(100...) = $0 { true } else { false } }
            return isThere ? Difference(steps: steps, clock: .suspending, text: "") : nil
        }
        let shrunk = Difference(steps: steps, clock: .suspending, text: "").shrunk(find)
        #expect(shrunk.steps.count == 2 && find(shrunk.steps) != nil)
    }

    /// Expects that library and model agree for each seed; returns the branches that the model took.
    private func agree(seeds: [UInt64]) -> Set<String> {
        var seen: Set<String> = []
        for seed in seeds {
            let clock: TimerClock = seed % 4 == 0 ? .wall : .suspending
            var generator = StepGenerator(seed: seed, clock: clock)
            let steps = generator.steps(Self.stepsPerRun)
            guard let difference = Difference.find(steps, on: clock, seen: &seen) else { continue }
            Issue.record("seed \(seed): \(difference.shrunk { Difference.find($0, on: clock, seen: &seen) })")
            break
        }
        return seen
    }

    /// The branches that random steps must take to make the comparison meaningful.
    private static let branches: Set<String> = [
        "again", "cancelled", "completed", "ended inside", "ends after its count", "extra", "fault", "handle released",
        "in phase", "missed", "refused", "rescheduled in delivery", "restarted", "rests", "rests after its count",
        "shut down", "spare round", "target released",
    ]
}

/// A sequence of steps on which the library and the model differ.
struct Difference: CustomStringConvertible {
    let steps: [Step]
    let clock: TimerClock
    let text: String

    /// The steps as a list, of which the last one shows the difference.
    var description: String {
        let list = steps.enumerated().map { "  \($0.offset + 1). \($0.element)" }.joined(separator: "\n")
        return "\(text)\nafter these steps on the \(clock.rawValue) clock:\n\(list)"
    }

    /// Performs the same steps with the library and a model; nil if they agree. Adds the branches that the
    /// model took.
    static func find(_ steps: [Step], on clock: TimerClock, seen: inout Set<String>) -> Difference? {
        let library = LibraryRun(clock: clock)
        var model = Model(startingAt: library.start)
        defer { seen.formUnion(model.seen) }
        for (position, step) in steps.enumerated() {
            model.take(step, seeing: library.take(step))
            if let text = model.difference {
                _ = library.finish()
                return Difference(steps: Array(steps[...position]), clock: clock, text: text)
            }
        }
        model.finish(seeing: library.finish())
        return model.difference.map { Difference(steps: steps, clock: clock, text: "at the end: \($0)") }
    }

    /// The fewest steps that make `body` return a difference, of those that a bounded search finds (delta debugging,
    /// Zeller 1999).
    func shrunk(_ body: ([Step]) -> Difference?) -> Difference {
        var (best, trials, wasShrunk) = (self, 3_000, true)
        while wasShrunk {
            wasShrunk = false
            for size in sequence(first: max(1, best.steps.count / 2), next: { $0 > 1 ? $0 / 2 : nil }) {
                var start = 0
                while start < best.steps.count, trials > 0 {
                    var steps = best.steps
                    steps.removeSubrange(start..<min(start + size, steps.count))
                    trials -= 1
                    if let shorter = body(steps) { (best, wasShrunk) = (shorter, true) } else { start += size }
                }
            }
        }
        return best
    }
}
