import ArgumentParser
import CBenchmark
import Foundation
import PreciseTimer
import PreciseTimerPatterns

/// A scene of a program with many timers.
enum Scene: String, CaseIterable, ExpressibleByArgument {
    case tolerance
    case idle
    case rest
    /// The first scene, with the service's statistics; the floor is the same without them.
    case statistics
}

/// One side of a scene, in a process of its own.
struct SceneCase: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "scene-case", shouldDisplay: false)

    /// Who keeps the timers. The pace is what the refreshing thread costs alone.
    enum Side: String, ExpressibleByArgument {
        case ours
        case floor
        case pace
    }

    @Argument var scene: Scene
    @Argument var side: Side
    @Flag(help: "For seconds only, and 100,000 timers at rest instead of a million.") var quick = false

    func run() throws {
        switch (scene, side) {
        case (.tolerance, .ours): try measureTicks { try Tolerance.start() }
        case (.tolerance, .floor): measureTicks { Tolerance.startFloor() }
        case (.idle, .ours):
            let timeouts = IdleTimeouts<Int>(on: try TimerService(.timerFD)) { _ in }
            measureRefreshes { timeouts.refresh($0, after: .nanoseconds(Idle.timeout)) }
        case (.idle, .floor):
            let timeouts = unsafe bench_timeouts_new(UInt32(Idle.keys), Idle.timeout)
            measureRefreshes { unsafe bench_timeouts_refresh(timeouts, UInt64($0)) }
        case (.idle, .pace): measureRefreshes { _ in }
        case (.rest, .ours): try measureRest()
        case (.statistics, .ours): try measureTicks { try Tolerance.start(withStatistics: true) }
        case (.statistics, .floor): try measureTicks { try Tolerance.start() }
        default: throw ValidationError("the scene has no such side")
        }
    }

    /// Processor time per tick, after a second in which the phases of the timers mix.
    private func measureTicks<Timers>(_ start: () throws -> Timers) rethrows {
        let timers = try start()
        Clock.sleep(milliseconds: 1_000)
        let (ticks, instant, time) = (Ticks.count, Clock.now(), Clock.processorTime)
        Clock.sleep(milliseconds: quick ? 1_000 : 5_000)
        let passed = (ticks: Ticks.count - ticks, time: Clock.processorTime - time, Clock.now() - instant)
        Program.report("nanoseconds per tick", Double(passed.time) / Double(max(1, passed.ticks)))
        Program.report("ticks per second", Double(passed.ticks) * 1e9 / Double(passed.2))
        withExtendedLifetime(timers) {}
    }

    /// The share of a core, after the first time-outs have come to their end. Each key then comes there once in four
    /// seconds.
    private func measureRefreshes(_ refresh: (Int) -> Void) {
        let (before, seconds) = quick ? (2, 2) : (6, 8)
        Idle.refresh(0..<before * Idle.perSecond, refresh)
        measureShare { Idle.refresh(before * Idle.perSecond..<(before + seconds) * Idle.perSecond, refresh) }
    }

    private func measureRest() throws {
        let service = try TimerService(.timerFD)
        let targets = (0..<(quick ? 100_000 : 1_000_000)).map { _ in Target() }
        for target in targets {
            try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) { target, _ in
                target.tick()
            }
        }
        Clock.sleep(milliseconds: 2_000)
        measureShare { Clock.sleep(milliseconds: quick ? 4_000 : 12_000) }
        withExtendedLifetime(targets) {}
    }

    private func measureShare(_ body: () -> Void) {
        let (instant, time) = (Clock.now(), Clock.processorTime)
        body()
        Program.report("core %", 100 * Double(Clock.processorTime - time) / Double(Clock.now() - instant))
    }
}

/// Timers of 10 to 100 ms that may tick a millisecond late.
private enum Tolerance {
    static let periods = (0..<10_000).map { UInt64(10_000_000 + $0 * 9_000) }

    static func start(withStatistics: Bool = false) throws -> (TimerService, [Target]) {
        let (service, targets) = (try TimerService(.timerFD), periods.map { _ in Target() })
        service.collectsStatistics = withStatistics
        for (period, target) in zip(periods, targets) {
            let schedule = PreciseTimer.Schedule.every(.nanoseconds(period))
            try PreciseTimer.schedule(schedule, on: service, tolerance: .milliseconds(1), target: target) { target, _ in
                target.tick()
            }
        }
        return (service, targets)
    }

    static func startFloor() {
        Thread.detachNewThread {
            unsafe bench_tolerant_loop(periods, UInt32(periods.count), 1_000_000) { Ticks.note() }
        }
    }
}

/// Time-outs that are postponed long before they pass.
private enum Idle {
    static let keys = 100_000
    static let perSecond = 50_000
    static let timeout: UInt64 = 5_000_000_000

    /// Refreshes keys in a mixed order, some at each millisecond, as a loop does that reads from its sockets.
    static func refresh(_ numbers: Range<Int>, _ refresh: (Int) -> Void) {
        let start = Clock.now()
        for number in numbers {
            let (milliseconds, rest) = (number - numbers.lowerBound).quotientAndRemainder(dividingBy: perSecond / 1_000)
            if rest == 0 { Clock.sleep(until: start + UInt64(milliseconds) * 1_000_000) }
            // 7,919 has no common factor with the number of keys, so each key has its turn.
            refresh(number * 7_919 % keys)
        }
    }
}
