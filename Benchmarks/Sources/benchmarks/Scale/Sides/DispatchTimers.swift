import Dispatch

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
