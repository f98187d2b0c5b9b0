import Dispatch
import PreciseTimer
import Synchronization
import TimerAlarms

/// What the public interface costs beside a `DispatchSourceTimer` that does the same.
enum TimerBenchmarks {
    static func run() throws {
        let service = try TimerService(.timerFD)
        try compareScheduling(on: service, "schedule + cancel, a weak target, an hour away")
        let target = Target()
        for _ in 0..<100_000 {
            let schedule = PreciseTimer.Schedule.once(after: .seconds(7_200))
            try PreciseTimer.schedule(schedule, on: service, target: target) { target, _ in target.tick() }
        }
        try compareScheduling(on: service, "the same with 100,000 other timers pending on the service")
        service.shutdown()
        try compareTicking()
    }

    private static func compareScheduling(on service: TimerService, _ title: String) throws {
        let (target, count) = (Target(), 20_000)
        let queue = DispatchQueue(label: "benchmark")
        try Harness.compare(
            title,
            [
                Side(name: "DispatchSourceTimer") {
                    Harness.time {
                        for _ in 0..<count { DispatchTimer(after: .seconds(3_600), on: queue, target).cancel() }
                    } / Double(count)
                },
                Side(name: "PreciseTimer on .timerFD") {
                    try Harness.time {
                        for _ in 0..<count {
                            let timer = try PreciseTimer.schedule(
                                .once(after: .seconds(3_600)),
                                on: service,
                                target: target
                            ) { target, _ in target.tick() }
                            timer.cancel()
                        }
                    } / Double(count)
                },
            ]
        )
    }

    /// A thousand timers of 100 µs ask for ten million ticks a second, more than one thread can deliver: what is
    /// measured is the time that each tick takes.
    private static func compareTicking() throws {
        let (timers, period) = (1_000, 100)
        try Harness.compare(
            "one tick of 1,000 timers that are always due",
            rounds: 5,
            [
                Side(name: "DispatchSourceTimer") {
                    let (target, queue) = (Target(), DispatchQueue(label: "benchmark"))
                    let sources = (0..<timers)
                        .map { _ in
                            DispatchTimer(every: .microseconds(period), on: queue, target)
                        }
                    defer { for source in sources { source.cancel() } }
                    return nanosecondsPerTick(of: target)
                },
                Side(name: "PreciseTimer on .timerFD") {
                    let (target, service) = (Target(), try TimerService(.timerFD))
                    for _ in 0..<timers {
                        let schedule = PreciseTimer.Schedule.every(.microseconds(period))
                        try PreciseTimer.schedule(schedule, on: service, target: target) { target, _ in target.tick() }
                    }
                    defer { service.shutdown() }
                    return nanosecondsPerTick(of: target)
                },
            ]
        )
    }

    private static func nanosecondsPerTick(of target: Target) -> Double {
        KernelClock.sleep(for: .milliseconds(50))
        let before = target.ticks
        let nanoseconds = Harness.time { KernelClock.sleep(for: .milliseconds(300)) }
        return nanoseconds / Double(max(1, target.ticks - before))
    }
}

/// What the ticks are for.
private final class Target: Sendable {
    private let counter = Atomic(0)

    var ticks: Int { counter.load(ordering: .relaxed) }

    func tick() { counter.add(1, ordering: .relaxed) }
}

/// What one writes without this library: a source with a weak target.
private struct DispatchTimer {
    private let source: any DispatchSourceTimer

    init(after delay: DispatchTimeInterval, on queue: DispatchQueue, _ target: Target) {
        source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        source.schedule(deadline: .now() + delay, leeway: .nanoseconds(0))
        start(target)
    }

    init(every period: DispatchTimeInterval, on queue: DispatchQueue, _ target: Target) {
        source = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        source.schedule(deadline: .now() + period, repeating: period, leeway: .nanoseconds(0))
        start(target)
    }

    func cancel() { source.cancel() }

    private func start(_ target: Target) {
        source.setEventHandler { [weak target] in target?.tick() }
        source.activate()
    }
}
