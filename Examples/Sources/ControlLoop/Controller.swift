import PreciseTimer
import Synchronization

/// The work of each tick, and statistics about the ticks.
final class Controller: Sendable {
    struct State {
        var cart = Cart()
        /// The number of deadlines that have passed.
        var deadlines: UInt64 = 0
        var lateness: [Duration] = []
    }

    private let content: Mutex<State>

    /// - Parameter ticks: the number of ticks for which room is reserved: a real-time handler allocates no memory.
    init(ticks: Int) {
        var state = State()
        state.lateness.reserveCapacity(ticks)
        content = Mutex(state)
    }

    var state: State { content.withLock { $0 } }

    /// Controls the cart. Returns how many deadlines have passed.
    ///
    /// After a stall, `tick.missed` says how many deadlines got no tick. The cart has run on in that time, so a
    /// controller that ignores them drives a cart that is elsewhere.
    func step(_ tick: PreciseTimer.Tick) -> UInt64 {
        content.withLock { state in
            state.cart.run(milliseconds: 1 + tick.missed)
            state.cart.control()
            state.deadlines += 1 + tick.missed
            state.lateness.append(tick.lateness)
            return state.deadlines
        }
    }
}
