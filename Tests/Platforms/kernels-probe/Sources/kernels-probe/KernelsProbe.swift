import Foundation
import PreciseTimer
import Synchronization

/// Checks promises of the library that depend on the kernel, as root in a guest with two processors.
///
///     kernels-probe ROW
///
/// Services and busy threads are pinned to processor 0. The main thread judges them from processor 1, on which nothing
/// else is busy.
@main enum KernelsProbe {
    static func main() {
        let rows = [
            "1": Rows.clocks, "2": Rows.grants, "3": Rows.inheritance, "4": Rows.besideASpin, "5": Rows.pinned,
            "6": Rows.clocks, "7": Rows.suspension,
        ]
        let name = CommandLine.arguments.last ?? ""
        do {
            try System.pinMainThread(to: 1)
            if let row = rows[name] { try row() } else { Rows.say(false, "there is no row \(name)") }
        } catch {
            Rows.say(false, "row \(name): \(error)")
        }
    }
}

/// The rows. Each prints lines, and a broken promise is a line that begins with FAIL.
enum Rows {
    static let period = Duration.milliseconds(10)

    static func say(_ isKept: Bool, _ text: String) {
        // At once: the guest may be ended in the middle of a row.
        FileHandle.standardOutput.write(Data("\(isKept ? "ok  " : "FAIL") \(text)\n".utf8))
    }
}

/// A backend, and one of its clocks.
struct Kind: Sendable, CustomStringConvertible {
    let backend: TimerService.Backend
    let clock: TimerClock

    static func all(of backends: [TimerService.Backend] = TimerService.Backend.allCases) -> [Kind] {
        backends.flatMap { backend in
            TimerClock.allCases.filter(backend.clocks.contains).map { Kind(backend: backend, clock: $0) }
        }
    }

    var description: String { "\(backend) on \(clock)" }

    func service(_ options: TimerService.ThreadOptions = TimerService.ThreadOptions()) throws -> TimerService {
        try TimerService(backend, clock: clock, thread: options)
    }
}

/// Counts the ticks of one periodic timer, and compares each of them with a reading of the clock of its own.
final class Count: Sendable {
    struct State {
        var first: TimerInstant?
        var ticks = 0
        /// The sum of 1 + `missed`.
        var deadlines = 0
        /// The ticks while the spin was on.
        var besideSpin = 0
        var latest = Duration.zero
        var faults: [String] = []
    }

    private let state = Mutex(State())
    private let period: Duration
    private let spin: Spin?

    init(_ period: Duration, beside spin: Spin? = nil) {
        self.period = period
        self.spin = spin
    }

    var now: State { state.withLock { $0 } }

    /// Returns the state with this tick.
    @discardableResult func note(_ tick: PreciseTimer.Tick) -> State {
        let read = System.nanoseconds(tick.deadline.clock)
        let isBesideSpin = spin?.isOn == true
        return state.withLock { state in
            if read < tick.deadline.nanoseconds { state.faults.append("early by the clock: \(tick)") }
            if tick.delivered < tick.deadline { state.faults.append("early: \(tick)") }
            let first = state.first ?? tick.deadline
            state.first = first
            if tick.index != state.deadlines || tick.deadline != first.advanced(by: period * state.deadlines) {
                state.faults.append("after \(state.deadlines) deadlines comes number \(tick.index): \(tick)")
            }
            state.ticks += 1
            state.deadlines += 1 + tick.missed
            // Deadlines that pass while the handler is on its way may belong to the next tick.
            let passed = (woke: passed(first, tick.woke), delivered: passed(first, tick.delivered))
            if !(passed.woke...max(passed.woke, passed.delivered) ~= state.deadlines) {
                state.faults.append("\(state.deadlines) of \(passed) deadlines: \(tick)")
            }
            if isBesideSpin { state.besideSpin += 1 }
            state.latest = max(state.latest, tick.lateness)
            return state
        }
    }

    private func passed(_ first: TimerInstant, _ now: TimerInstant) -> Int {
        Int((now.nanoseconds - first.nanoseconds) / UInt64(period / .nanoseconds(1))) + 1
    }
}

extension Count.State {
    /// The first faults, in one line; empty if there are none.
    var fault: String { faults.isEmpty ? "" : "; \(faults.count) faults: \(faults.prefix(2).joined(separator: "; "))" }
}
