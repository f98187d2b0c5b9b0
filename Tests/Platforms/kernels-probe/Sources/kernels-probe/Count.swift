import Foundation
import PreciseTimer
import Synchronization

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
