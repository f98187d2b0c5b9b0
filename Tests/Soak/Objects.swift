import PreciseTimer

/// An object for a handler to capture; counted while it exists.
final class Capture: Sendable {
    let subject: Subject
    private let tally: Tally

    init(_ subject: Subject, _ tally: Tally) {
        self.subject = subject
        self.tally = tally
        tally.captures.add(1)
    }

    deinit { tally.captures.add(-1) }
}

/// A timer's target; counted while it exists.
final class Target: Sendable {
    private let tally: Tally

    init(_ tally: Tally) {
        self.tally = tally
        tally.targets.add(1)
    }

    deinit { tally.targets.add(-1) }
}

/// An actor as a target; counted while it exists.
actor ActorTarget {
    private let tally: Tally
    private var ticks = 0

    init(_ tally: Tally) {
        self.tally = tally
        tally.targets.add(1)
    }

    deinit { tally.targets.add(-1) }

    func tick() { ticks += 1 }
}
