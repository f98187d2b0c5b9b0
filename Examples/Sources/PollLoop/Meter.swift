import PreciseTimer
import Synchronization

/// Counts ticks.
final class Meter: Sendable {
    private let counted = Atomic(0)
    private let covered = Atomic(0)
    private let earlyOnes = Atomic(0)

    /// How many ticks came.
    var ticks: Int { counted.load(ordering: .relaxed) }
    /// How many deadlines they stand for.
    var deadlines: Int { covered.load(ordering: .relaxed) }
    /// How many of them came before their deadline.
    var early: Int { earlyOnes.load(ordering: .relaxed) }

    func note(_ tick: PreciseTimer.Tick) {
        counted.add(1, ordering: .relaxed)
        covered.add(1 + Int(tick.missed), ordering: .relaxed)
        if tick.lateness < .zero { earlyOnes.add(1, ordering: .relaxed) }
    }
}
