import PreciseTimer
import Synchronization

/// Records the barks of a watchdog.
final class Barks: Sendable {
    private let heard = Mutex<[PreciseTimer.Tick]>([])

    var count: Int { heard.withLock { $0.count } }
    var last: PreciseTimer.Tick? { heard.withLock { $0.last } }
    var hasBarkedEarly: Bool { heard.withLock { $0.contains { $0.lateness < .zero } } }

    func note(_ tick: PreciseTimer.Tick) { heard.withLock { $0.append(tick) } }
}
