import Dispatch
import Synchronization

/// The usual code without this library: timer sources with a weak target, on one queue.
struct DispatchTimers: TimerSide {
    static let name = "Dispatch"
    static let mostTimers = 100_000

    private let queue = DispatchQueue(label: "benchmark")
    private let sample: Sample

    init(_ sample: Sample) { self.sample = sample }

    func schedule(_ number: Int) -> any DispatchSourceTimer {
        Self.source(on: queue, sample.targets[number], deadline: .now() + delay(number))
    }

    func reschedule(_ timer: any DispatchSourceTimer, _ number: Int) {
        timer.schedule(deadline: .now() + delay(number, 1_000), leeway: .nanoseconds(0))
    }

    func cancel(_ timer: any DispatchSourceTimer) { timer.cancel() }

    /// Dispatch adds and removes sources on their queue.
    func settle(pending: Int) { queue.sync {} }

    private func delay(_ number: Int, _ more: UInt64 = 0) -> DispatchTimeInterval {
        .nanoseconds(Int(sample.delays[number] + more))
    }

    static func source(
        on queue: DispatchQueue,
        _ target: Target,
        deadline: DispatchTime,
        repeating period: DispatchTimeInterval = .never
    ) -> any DispatchSourceTimer {
        let source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        source.schedule(deadline: deadline, repeating: period, leeway: .nanoseconds(0))
        source.setEventHandler { [weak target] in target?.tick() }
        source.activate()
        return source
    }

    static func fire(_ sample: Sample) throws -> Double {
        let queue = DispatchQueue(label: "benchmark")
        return try Lead.fire(sample) { deadline in
            let sources = zip(sample.targets, sample.spread)
                .map { source(on: queue, $0, deadline: DispatchTime(uptimeNanoseconds: deadline + $1)) }
            return { for source in sources { source.cancel() } }
        }
    }

    static func tick() -> Double {
        let (queue, target) = (DispatchQueue(label: "benchmark"), Target())
        let sources = storm(on: queue, target)
        defer { for source in sources { source.cancel() } }
        return Ticks.price()
    }

    /// Timers that are always due.
    static func storm(on queue: DispatchQueue, _ target: Target) -> [any DispatchSourceTimer] {
        let period = DispatchTimeInterval.nanoseconds(Int(Storm.period))
        return (0..<Storm.timers)
            .map { _ in source(on: queue, target, deadline: .now() + period, repeating: period) }
    }
}

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
