import PreciseTimer
import TestSupport

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
}

extension Difference {
    /// Performs the same steps with the library and a model; nil if they agree. Adds the branches that the
    /// model took.
    static func find(_ steps: [Step], on clock: TimerClock, seen: inout Set<String>) -> Difference? {
        let library = LibraryRun(clock: clock)
        var model = Model(startingAt: library.now)
        defer { seen.formUnion(model.seen) }
        for (position, step) in steps.enumerated() {
            model.take(step, seeing: library.take(step))
            if let text = model.difference {
                _ = library.finish()
                return Difference(steps: Array(steps[...position]), clock: clock, text: text)
            }
        }
        model.finish(seeing: library.finish())
        let text = model.difference ?? (library.captures == 0 ? nil : "\(library.captures) captures are not released")
        return text.map { Difference(steps: steps, clock: clock, text: "at the end: \($0)") }
    }

    /// The difference that random steps show; nil if library and model agree. Each seed has one clock and its
    /// own steps.
    static func find(seed: UInt64, count: Int, seen: inout Set<String>) -> Difference? {
        let clock: TimerClock = seed % 4 == 0 ? .wall : .suspending
        var generator = StepGenerator(seed: seed, clock: clock)
        return find(generator.steps(count), on: clock, seen: &seen)
    }
}

/// Searches for a shorter sequence of steps that still shows a difference (delta debugging, Zeller 1999).
extension Difference {
    /// The fewest and simplest steps that a bounded search finds.
    func shrunk() -> Difference {
        shrunk { steps in
            var seen: Set<String> = []
            return Difference.find(steps, on: clock, seen: &seen)
        }
    }

    /// The fewest and simplest steps that a bounded search finds and that still make `body` return a difference.
    func shrunk(_ body: ([Step]) -> Difference?) -> Difference {
        var best = self
        var trials = 3_000
        func find(_ steps: [Step]) -> Difference? {
            trials -= 1
            return body(steps)
        }
        var wasShrunk = true
        while wasShrunk, trials > 0 {
            wasShrunk = false
            var size = max(1, best.steps.count / 2)
            while size >= 1 {
                var start = 0
                while start < best.steps.count, trials > 0 {
                    var steps = best.steps
                    steps.removeSubrange(start..<min(start + size, steps.count))
                    if let shorter = find(steps) {
                        best = shorter
                        wasShrunk = true
                    } else {
                        start += size
                    }
                }
                size /= 2
            }
            for position in best.steps.indices.reversed() where position < best.steps.count {
                var candidates = best.steps[position].simplified[...]
                while trials > 0, let candidate = candidates.popFirst(), position < best.steps.count {
                    var steps = best.steps
                    steps[position] = candidate
                    guard let simpler = find(steps) else { continue }
                    best = simpler
                    wasShrunk = true
                    if position < best.steps.count { candidates = best.steps[position].simplified[...] }
                }
            }
        }
        return best
    }
}

extension Step {
    /// Every version of the step that is simpler in one place.
    var simplified: [Step] {
        switch self {
        case .schedule(let plan): plan.simplified.map(Step.schedule)
        case .advance(let length) where length > 1: [.advance(length / 2), .advance(length - 1)]
        case .jump(let length) where length > 1: [.jump(length / 2), .jump(length - 1)]
        case .inject(let fault, let delay) where delay > 0: [.inject(fault, after: delay / 2)]
        default: []
        }
    }
}

extension Plan {
    fileprivate var simplified: [Plan] {
        var plans: [Plan] = []
        for position in epilogue.indices {
            var plan = self
            plan.epilogue.remove(at: position)
            plans.append(plan)
        }
        for (position, cue) in script.enumerated() {
            var plan = self
            plan.script.remove(at: position)
            plans.append(plan)
            for step in cue.step.simplified {
                plan = self
                plan.script[position] = Cue(call: cue.call, step: step)
                plans.append(plan)
            }
        }
        if tolerance > 0 { plans.append(with(tolerance: 0)) }
        if isPaused { plans.append(with(isPaused: false)) }
        if policy != .skip { plans.append(with(policy: .skip)) }
        return plans
    }

    private func with(
        policy: PreciseTimer.MissedTickPolicy? = nil,
        tolerance: Int64? = nil,
        isPaused: Bool? = nil
    ) -> Plan {
        Plan(
            id: id,
            rule: rule,
            policy: policy ?? self.policy,
            tolerance: tolerance ?? self.tolerance,
            isPaused: isPaused ?? self.isPaused,
            target: target,
            script: script,
            epilogue: epilogue
        )
    }
}
