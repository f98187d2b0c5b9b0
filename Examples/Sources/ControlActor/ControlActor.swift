import ExampleSupport
import Glibc
import PreciseTimer
import PreciseTimerExecutor

/// A control loop of 1 kHz in async code. Its task and its actor run on the real-time thread of the service, so the
/// actor's state needs no lock.
///
/// Without the rights for such a thread it runs on an ordinary one, and says so.
@main
enum ControlActor {
    static func main() async throws {
        let options = TimerService.ThreadOptions(policy: .fifo(priority: 80), idleLatency: .zero)
        let service = try TimerService(.hybrid, thread: options)
        let isRealTime = !service.grant.refusals.contains { $0.option == .policy }
        print(service.grant)

        let executor = TimerExecutor(on: service)
        let controller = Controller(on: executor)
        let task = Task(executorPreference: executor) {
            let (start, thread) = (service.now, pthread_self())
            var millisecond = 0
            while millisecond < 1_500 {
                // After a stall, the milliseconds that have passed are skipped.
                millisecond = max(millisecond + 1, Int(start.duration(to: service.now) / .milliseconds(1)))
                let deadline = start.advanced(by: .milliseconds(millisecond))
                try await service.clock.sleep(until: deadline)
                await controller.step(to: millisecond, deadline, on: thread)
            }
            if isRealTime { check(currentPolicy() == (SCHED_FIFO, 80), "the policy is \(currentPolicy())") }
        }
        try await task.value

        let (cart, lateness) = await (controller.cart, controller.lateness.sorted())
        service.shutdown()
        let (half, most) = (lateness[lateness.count / 2], lateness[lateness.count * 99 / 100])
        print("lateness: 50 % at most \(half / .microseconds(1)) µs, 99 % at most \(most / .microseconds(1)) µs")
        print("the cart is at \(cart.position) m after \(cart.age) ms, in \(lateness.count) steps")
        check(abs(cart.position - Cart.goal) < 0.01, "the cart is not at its goal")
    }
}

/// The work of each millisecond, and its state.
actor Controller {
    private let executor: TimerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unownedExecutor }
    private(set) var cart = Cart()
    private(set) var lateness: [Duration] = []

    init(on executor: TimerExecutor) { self.executor = executor }

    /// Controls the cart, which has run on since the last step.
    func step(to millisecond: Int, _ deadline: TimerInstant, on thread: pthread_t) {
        check(pthread_self() == thread, "the actor has left the task's thread")
        let late = deadline.duration(to: executor.service.now)
        check(late >= .zero, "a sleep ended early: \(late)")
        lateness.append(late)
        cart.run(milliseconds: millisecond - cart.age)
        cart.control()
    }
}

/// The scheduling policy of the calling thread, without the flag SCHED_RESET_ON_FORK, and its priority.
func currentPolicy() -> (policy: CInt, priority: CInt) {
    var parameters = sched_param()
    check(unsafe sched_getparam(0, &parameters) == 0, "the thread's priority is unknown")
    return (sched_getscheduler(0) & ~0x4000_0000, parameters.sched_priority)
}
