import ExampleSupport
import PreciseTimer
import Synchronization

/// A connection that is closed if its peer is silent for too long.
final class Connection: Sendable {
    static let patience = Duration.milliseconds(300)

    private struct State {
        var isOpen = true
        var timeout: PreciseTimer?
    }

    private let state = Mutex(State())

    var isOpen: Bool { state.withLock { $0.isOpen } }

    init(on service: TimerService) throws {
        // It does no harm if a connection is closed late, so the time-outs may share wake-ups.
        let timeout = try PreciseTimer.schedule(
            .onDemand,
            on: service,
            tolerance: .milliseconds(50),
            label: "idle connection",
            target: self
        ) { connection, tick in
            check(tick.lateness >= .zero, "a connection was closed early")
            connection.state.withLock { $0.isOpen = false }
        }
        state.withLock { $0.timeout = timeout }
    }

    /// A byte has arrived. Postponing the time-out makes no system call.
    func receive() throws { try state.withLock(\.timeout)?.reschedule(.once(after: Self.patience)) }
}
