import ExampleSupport
import PreciseTimer

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
            calling: Controller.step,
            target: controller
        )
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
