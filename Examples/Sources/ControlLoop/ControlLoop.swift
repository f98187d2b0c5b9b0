import ExampleSupport
import PreciseTimer
import Synchronization

/// A control loop of 1 kHz, on a real-time thread that sleeps and then spins.
///
/// Without the rights for such a thread it runs on an ordinary one, and says so.
@main
enum ControlLoop {
    static func main() async throws {
        let options = TimerService.ThreadOptions(policy: .fifo(priority: 80), idleLatency: .zero)
        let service = try TimerService(.hybrid, thread: options)
        service.collectsStatistics = true
        print(service.grant)

        let controller = Controller()
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), count: 1_500),
            on: service,
            target: controller
        ) { controller, tick in controller.step(tick) }
        try await wait(for: "the end of the loop") { timer.state == .ended(.completed) }
        if let lateness = service.statistics?.lateness { print("lateness:", lateness) }
        if let spin = service.spin { print("spin:", spin) }
        service.shutdown()

        let (cart, ledger) = (controller.cart, controller.ledger)
        print("the cart is at \(cart.position) m after \(ledger.deadlines) deadlines, \(ledger.missed) missed")
        check(abs(cart.position - Cart.goal) < 0.01, "the cart is not at its goal")
        check(cart.age == ledger.deadlines, "the controller has lost milliseconds")
    }
}

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
