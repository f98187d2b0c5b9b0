import Synchronization

/// One sleeping task for each timer.
struct SleepingTasks: TimerSide {
    static let name = "Task.sleep"
    static let mostTimers = 100_000
    static let canReschedule = false

    private static let started = Atomic(0)
    private static let ended = Atomic(0)

    private let sample: Sample
    private var begun = 0

    init(_ sample: Sample) {
        self.sample = sample
        Self.started.store(0, ordering: .relaxed)
        Self.ended.store(0, ordering: .relaxed)
    }

    mutating func schedule(_ number: Int) -> Task<Void, Never> {
        let (target, delay) = (sample.targets[number], Duration.nanoseconds(sample.delays[number]))
        begun += 1
        return Task.detached { [weak target] in
            Self.started.add(1, ordering: .relaxed)
            if (try? await Task.sleep(for: delay, clock: .suspending)) != nil { target?.tick() }
            Self.ended.add(1, ordering: .relaxed)
        }
    }

    func cancel(_ timer: Task<Void, Never>) { timer.cancel() }

    /// Waits until the tasks have begun to sleep, or have ended.
    func settle(pending: Int) {
        while Self.started.load(ordering: .relaxed) < begun || Self.ended.load(ordering: .relaxed) < begun - pending {
            Clock.sleep(until: Clock.now() + 20_000)
        }
    }

    static func fire(_ sample: Sample) throws -> Double {
        try Lead.fire(sample) { deadline in
            let instant = SuspendingClock.now + .nanoseconds(deadline - Clock.now())
            let tasks = zip(sample.targets, sample.spread)
                .map { target, offset in
                    Task.detached { [weak target] in
                        let deadline = instant + .nanoseconds(offset)
                        if (try? await Task.sleep(until: deadline, clock: .suspending)) != nil { target?.tick() }
                    }
                }
            return { for task in tasks { task.cancel() } }
        }
    }

    static func tick() -> Double {
        let target = Target()
        let tasks = (0..<Storm.timers)
            .map { _ in
                Task.detached { [weak target] in
                    while (try? await Task.sleep(for: .nanoseconds(Storm.period), clock: .suspending)) != nil {
                        target?.tick()
                    }
                }
            }
        defer { for task in tasks { task.cancel() } }
        return Ticks.price()
    }
}
