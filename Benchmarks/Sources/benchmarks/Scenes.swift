import ArgumentParser
import CBenchmark
import Foundation
import PreciseTimer
import PreciseTimerPatterns

/// Programs with many timers, each beside the least that a program in C needs for the same.
struct Scenes: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Timers with a tolerance, idle time-outs and timers at rest, beside programs in C."
    )

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var own: [Scene: Figures] = [:]
        var floor: [Scene: Figures] = [:]
        var pace = Figures()
        for round in options.rounds(with: 1_000_000) {
            for scene in Scene.allCases {
                progress("scenes: round \(round + 1): \(scene.title(options))")
                own[scene, default: Figures()].values.append(try measure(scene, .ours, options))
                guard scene != .rest else { continue }
                floor[scene, default: Figures()].values.append(try measure(scene, .floor, options))
            }
            pace.values.append(try measure(.idle, .pace, options))
        }
        var table = Table(
            title: "Scenes, processor time; ÷ a program in C, the floor",
            columns: ["", "measured", "PreciseTimer", "C program", "PreciseTimer ÷ C program"]
        )
        for scene in Scene.allCases where scene != .statistics {
            let (unit, name) = scene.measured
            let cells = [own[scene]?.text(unit), floor[scene]?.text(unit), own[scene]?.quotient(floor[scene])]
            let defaults = ["–", scene == .rest ? "0 %" : "–", "–"]
            table.rows.append([scene.title(options), name] + zip(cells, defaults).map { $0 ?? $1 })
            let row = (scene.title(options), own[scene]?.ratio(to: floor[scene]))
            if let remark = Behind.remark([row], above: Behind.peer, "the C program", scene.reason) {
                table.remarks.append(remark)
            }
        }
        if let share = own[.rest]?.median, share > 0.1 {
            table.remarks.append("“\(Scene.rest.title(options))” \(share.short) %, not 0: \(Scene.rest.reason).")
        }
        table.remarks += [
            "Of both shares of the idle time-outs, \(pace.text(.percent)) is the refreshing thread's sleep between its "
                + "calls: 50 at each millisecond. A time-out takes 5 s, and a key has its turn every 2 s."
        ]
        var statistics = Table(
            title: "Processor time per tick with the service's statistics",
            columns: ["", "with statistics", "without", "with ÷ without"],
            isDetail: true
        )
        let (with, without) = (own[.statistics], floor[.statistics])
        let cells = [with?.text(.nanoseconds), without?.text(.nanoseconds), with?.quotient(without)]
        statistics.rows = [[Scene.statistics.title(options)] + cells.map { $0 ?? "–" }]
        return [table, statistics]
    }

    private static func measure(_ scene: Scene, _ side: SceneCase.Side, _ options: Options) throws -> Double {
        let arguments = ["scene-case", scene.rawValue, side.rawValue] + (options.quick ? ["--quick"] : [])
        let figures = try Program.figures(of: arguments)
        guard let figure = figures["nanoseconds per tick"] ?? figures["core %"] else {
            throw Program.Failure(description: "\(arguments.joined(separator: " ")) gave no figure")
        }
        return figure
    }
}

extension Scene {
    fileprivate func title(_ options: Options) -> String {
        switch self {
        case .tolerance, .statistics: "10,000 timers of 10 to 100 ms, 1 ms of tolerance"
        case .idle: "100,000 idle time-outs, 50,000 refreshes a second"
        case .rest: "\(grouped(options.many)) timers at rest"
        }
    }

    fileprivate var measured: (unit: Unit, name: String) {
        self == .tolerance || self == .statistics ? (.nanoseconds, "time per tick") : (.percent, "share of a core")
    }

    /// Why PreciseTimer takes more than the floor.
    fileprivate var reason: String {
        switch self {
        case .tolerance:
            "a tick takes the lock and makes a strong reference of the weak one"
        case .idle:
            "a refresh moves its timer in the queue, under the lock, so that the service always knows the next "
                + "deadline; the C program stores an instant, and moves the entry when the old one has come"
        case .statistics: "the end of each handler is one more reading of the clock"
        case .rest: "once a second a thread looks for released targets, so that their timers end within seconds"
        }
    }
}

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
            let service = try TimerService(.timerFD)
            let timeouts = IdleTimeouts<Int>(on: service, target: service) { _, _ in }
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
