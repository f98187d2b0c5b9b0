import ArgumentParser
import Dispatch
import PreciseTimer

/// How much scheduling threads slow each other and the ticks.
struct Contention: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Scheduling on one service by several threads at once, and beside its ticks."
    )
    static let heading = "Contention on one service"

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        let contenders: [any Contender.Type] = [OurContender.self, DispatchContender.self]
        var figures = [[ContentionRow: Figures]](repeating: [:], count: contenders.count)
        for round in options.rounds(with: Storm.timers) {
            progress("contention: round \(round + 1)")
            for (number, type) in contenders.enumerated() {
                for (row, figure) in try measure(type) {
                    figures[number][row, default: Figures()].values.append(figure)
                }
            }
        }
        var table = Table(
            title: "Per second; × the first row of its kind",
            columns: ["", "PreciseTimer", "Dispatch", "PreciseTimer ÷ Dispatch", "asked"]
        )
        for row in ContentionRow.allCases {
            let cells = figures.map { own in
                own[row]?.text(.perSecond, against: row == row.reference ? nil : own[row.reference]) ?? "–"
            }
            let ratio = zip(figures[0][row]?.values ?? [], figures[1][row]?.values ?? []).map { $0 / $1 }
            let quotient = Figures(values: ratio).median.map { "\($0.short) ×" } ?? "–"
            table.rows.append([row.rawValue] + cells + [quotient, row.asked])
        }
        return [table]
    }

    private static func measure(_ type: any Contender.Type) throws -> [ContentionRow: Double] {
        var figures: [ContentionRow: Double] = [:]
        for (row, threads) in [(ContentionRow.one, 1), (.two, 2), (.eight, 8)] {
            let contender = try type.init()
            let workers = Workers(threads, contender.pairs())
            Clock.sleep(milliseconds: 300)
            figures[row] = workers.stop { contender.settle() }
            contender.close()
        }
        let pair = try (type.init(), type.init())
        let workers = [pair.0, pair.1].map { Workers(1, $0.pairs()) }
        Clock.sleep(milliseconds: 300)
        figures[.apart] = workers[0].stop { pair.0.settle() } + workers[1].stop { pair.1.settle() }
        pair.0.close()
        pair.1.close()
        let contender = try type.init()
        try contender.storm()
        figures[.ticks] = 1e9 / Ticks.price()
        let worker = Workers(1, contender.pairs())
        figures[.ticksBeside] = 1e9 / Ticks.price()
        figures[.pairsBeside] = worker.stop()
        contender.close()
        return figures
    }
}

/// The figures of one contender.
enum ContentionRow: String, CaseIterable {
    case one = "pairs by 1 thread"
    case two = "pairs by 2 threads"
    case eight = "pairs by 8 threads"
    case apart = "pairs by 2 threads, each on a service of its own"
    case ticks = "ticks of 1,000 always-due timers"
    case ticksBeside = "the same beside a churning thread"
    case pairsBeside = "that thread's pairs at the same time"

    var reference: ContentionRow {
        switch self {
        case .one, .two, .eight, .apart, .pairsBeside: .one
        case .ticks, .ticksBeside: .ticks
        }
    }

    var asked: String {
        switch self {
        case .one, .ticks: ""
        case .two, .eight: "≥ 0.8 ×"
        case .apart: "≥ 1.7 ×"
        case .ticksBeside: "≥ 1 M/s"
        case .pairsBeside: "≥ 0.5 M/s"
        }
    }
}

/// A service or queue on which several threads schedule timers at the same time.
protocol Contender: SendableMetatype {
    init() throws
    /// Makes a thread's body: it schedules and cancels one timer.
    func pairs() -> @Sendable () -> () -> Void
    /// Waits for the work that cancelled timers left behind.
    func settle()
    /// Starts timers that are always due.
    func storm() throws
    func close()
}

/// A service of this library.
struct OurContender: Contender {
    private let service: TimerService
    private let target = Target()

    init() throws { service = try TimerService(.timerFD) }

    func pairs() -> @Sendable () -> () -> Void {
        { [service] in
            let target = Target()
            return {
                let timer = try? PreciseTimer.schedule(.once(after: .seconds(3_600)), on: service, target: target) {
                    target,
                    _ in target.tick()
                }
                timer?.cancel()
            }
        }
    }

    func settle() {}

    func storm() throws { try OurTimers.storm(on: service, target) }

    func close() { service.shutdown() }
}

/// One Dispatch queue.
final class DispatchContender: Contender {
    private let queue = DispatchQueue(label: "benchmark")
    private let target = Target()
    private var sources: [any DispatchSourceTimer] = []

    func pairs() -> @Sendable () -> () -> Void {
        { [queue] in
            let target = Target()
            return { DispatchTimers.source(on: queue, target, deadline: .now() + 3_600).cancel() }
        }
    }

    func settle() { queue.sync {} }

    func storm() { sources = DispatchTimers.storm(on: queue, target) }

    func close() {
        for source in sources { source.cancel() }
        settle()
    }
}
