import Glibc
import PreciseTimer

/// A control loop of 1 kHz, on a real-time thread that sleeps and then spins.
///
/// Without the rights for such a thread it runs on an ordinary one, and says so.
@main
enum ControlLoop {
    private static let deadlines: UInt64 = 3_000

    static func main() throws {
        let options = TimerService.ThreadOptions(policy: .fifo(priority: 80), idleLatency: .zero)
        let service = try TimerService(.hybrid, thread: options)
        print(service.grant)

        let controller = Controller(ticks: Int(deadlines))
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service) { timer, tick in
            if controller.step(tick) >= deadlines { timer.cancel() }
        }
        for _ in 0..<60_000 where timer.state == .scheduled { usleep(1_000) }
        if timer.state != .ended(.cancelled) { fail("the loop did not reach its end in a minute") }

        let state = controller.state
        let lateness = state.lateness.sorted()
        let (half, most) = (text(lateness[lateness.count / 2]), text(lateness[lateness.count * 99 / 100]))
        print("\(lateness.count) ticks for \(state.deadlines) deadlines, p50 \(half) and p99 \(most) late")
        if let spin = service.spin {
            print("spins from \(text(spin.margin)) before a deadline, \(Int(spin.share * 100)) % of a core")
            if let obstacle = spin.obstacle { print("does not spin: \(obstacle)") }
        }
        print("the cart is at \(state.cart.position) m")
        if abs(state.cart.position - Cart.goal) > 0.01 { fail("the cart is not at its goal") }
        if UInt64(lateness.count) > state.deadlines { fail("there were more ticks than deadlines") }
        service.shutdown()
    }

    private static func text(_ length: Duration) -> String {
        let nanoseconds = Int(length / .nanoseconds(1))
        return nanoseconds < 10_000 ? "\(nanoseconds) ns" : "\(nanoseconds / 1_000) µs"
    }

    private static func fail(_ words: String) -> Never {
        print("failed:", words)
        exit(1)
    }
}
