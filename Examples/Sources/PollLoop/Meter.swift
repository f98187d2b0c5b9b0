import PreciseTimer
import Synchronization

/// Counts ticks.
final class Meter: Sendable {
    private let counted = Atomic(0)
    private let covered = Atomic(0)
    private let earlyOnes = Atomic(0)

    /// The number of ticks.
    var ticks: Int { counted.load(ordering: .relaxed) }
    /// The number of deadlines that they stand for.
    var deadlines: Int { covered.load(ordering: .relaxed) }
    /// The number of ticks that came before their deadline.
    var early: Int { earlyOnes.load(ordering: .relaxed) }

    func note(_ tick: PreciseTimer.Tick) {
        counted.add(1, ordering: .relaxed)
        covered.add(1 + Int(tick.missed), ordering: .relaxed)
        if tick.lateness < .zero { earlyOnes.add(1, ordering: .relaxed) }
    }
}
