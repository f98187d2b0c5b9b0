import ArgumentParser

/// Programs with many timers, each beside the least that a program in C needs for the same.
struct Scenes: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Timers with a tolerance, idle time-outs and timers at rest, beside programs in C."
    )
    static let heading = "Scenes: programs with many timers"

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
            title: "Processor time; beside a program in C, the floor",
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
                + "calls: 50 at each millisecond. A time-out takes 5 s, and a key has its turn every 2 s.",
            "A fourth scene, one schedule and its cancel, is the row “pair” of the tables of scale.",
        ]
        var statistics = Table(
            title: "Processor time per tick with the service's statistics",
            columns: ["", "with statistics", "without", "with ÷ without"]
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
