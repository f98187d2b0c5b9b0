import ExampleSupport
import PreciseTimer
import Synchronization

/// A connection that is closed if no byte arrives in time.
final class Connection: Sendable {
    let id: Int
    private let closed = Atomic(false)

    var isClosed: Bool { closed.load(ordering: .acquiring) }

    init(id: Int) { self.id = id }

    func expectByte(on service: TimerService, within patience: Duration = .seconds(30)) -> PreciseTimer {
        do {
            return try PreciseTimer.schedule(.once(after: patience), on: service, target: self) { connection, _ in
                connection.closed.store(true, ordering: .releasing)
            }
        } catch {
            fail("\(error)")
        }
    }
}
