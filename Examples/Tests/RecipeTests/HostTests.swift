import Dispatch
import PreciseTimer
import PreciseTimerExecutor
import Testing

/// An account whose code runs on the queue of an older program, beside the code that is there already.
actor Account {
    private let executor: TimerExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unownedExecutor }
    private(set) var balance = 0

    init(on executor: TimerExecutor) { self.executor = executor }

    /// Pays in after a while.
    func deposit(_ amount: Int, after delay: Duration) async throws {
        dispatchPrecondition(condition: .onQueue(HostTests.queue))
        try await executor.service.clock.sleep(for: delay)
        dispatchPrecondition(condition: .onQueue(HostTests.queue))
        balance += amount
    }
}

/// Tasks and actors in a host's loop. `PollLoop` and `CHost/async.c` are two more hosts.
struct HostTests {
    static let queue = DispatchQueue(label: "host")

    @Test func tasksAndActorsRunOnTheQueueOfAHost() async throws {
        let service = try TimerService(queue: Self.queue)
        let executor = TimerExecutor(on: service)
        let (account, start) = (Account(on: executor), service.now)
        let task = Task(executorPreference: executor) {
            async let small: Void = account.deposit(1, after: .milliseconds(20))
            async let large: Void = account.deposit(100, after: .milliseconds(10))
            _ = try await (small, large)
            dispatchPrecondition(condition: .onQueue(Self.queue))
            #expect(service.now >= start.advanced(by: .milliseconds(20)))
        }
        try await task.value
        #expect(await account.balance == 101)
        service.shutdown()
    }
}
