import NIOCore
import NIOPosix

/// Tasks of a SwiftNIO event loop, scheduled and cancelled on the loop.
struct LoopTasks: TimerSide {
    static let name = "SwiftNIO"
    static let canReschedule = false

    private let loop: any EventLoop
    private let sample: Sample

    /// A cancel searches all pending tasks, so only some are measured if there are many.
    static func operations(with pending: Int) -> Int {
        pending <= 1_000 ? .max : max(100, 100_000_000 / pending)
    }

    static func onItsThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        return try group.next().submit(body).wait()
    }

    init(_ sample: Sample) throws {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else {
            throw Program.Failure(description: "not on an event loop")
        }
        self.loop = loop
        self.sample = sample
    }

    func schedule(_ number: Int) -> Scheduled<Void> {
        let target = sample.targets[number]
        return loop.scheduleTask(in: .nanoseconds(Int64(sample.delays[number]))) { [weak target] in target?.tick() }
    }

    func cancel(_ timer: Scheduled<Void>) { timer.cancel() }

    /// A task of the loop schedules the timers, so none of them can run before.
    static func fire(_ sample: Sample) throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        let (tasks, start) =
            try loop.submit {
                let start = Clock.now()
                let tasks = zip(sample.targets, sample.spread)
                    .map { target, offset in
                        loop.scheduleTask(deadline: .uptimeNanoseconds(start + offset)) { [weak target] in
                            target?.tick()
                        }
                    }
                Clock.sleep(until: start + 2_000_000)
                return (tasks, Clock.now())
            }
            .wait()
        return try withExtendedLifetime(tasks) { Double(try Ticks.wait().last - start) }
    }

    static func tick() throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let (loop, target) = (group.next(), Target())
        let period = TimeAmount.nanoseconds(Int64(Storm.period))
        let tasks = (0..<Storm.timers)
            .map { _ in
                loop.scheduleRepeatedTask(initialDelay: period, delay: period) { [weak target] _ in target?.tick() }
            }
        defer { for task in tasks { task.cancel() } }
        return Ticks.price()
    }
}
