import ExampleSupport
import PreciseTimer
import Synchronization

/// The work of each tick.
final class Controller: Sendable {
    let ledger = Ledger()
    private let content = Mutex(Cart())

    var cart: Cart { content.withLock { $0 } }

    /// Controls the cart.
    ///
    /// After a stall, `tick.missed` says how many deadlines got no tick. The cart has run on in that time, so a
    /// controller that ignores them drives a cart that is elsewhere.
    func step(_ tick: PreciseTimer.Tick) {
        ledger.note(tick)
        content.withLock { cart in
            cart.run(milliseconds: 1 + tick.missed)
            cart.control()
        }
    }
}
