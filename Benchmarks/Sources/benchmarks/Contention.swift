import ArgumentParser
import Dispatch
import Foundation
import PreciseTimer

/// How much scheduling threads slow each other and the ticks.
struct Contention: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Scheduling by several threads at once, on one service or on one each, and beside ticks."
    )

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
            title: "Several threads at once, operations per second; × the first row of its kind",
            columns: ["", "PreciseTimer", "Dispatch", "PreciseTimer ÷ Dispatch"],
            remarks: remarks(figures[0], figures[1])
        )
        for row in ContentionRow.allCases {
            let cells = figures.map { own in
                own[row]?.text(.perSecond, against: row == row.reference ? nil : own[row.reference]) ?? "–"
            }
            table.rows.append([row.rawValue] + cells + [figures[0][row]?.quotient(figures[1][row]) ?? "–"])
        }
        return [table]
    }

    /// These are rates: a row is behind if the reference's rate is the higher one.
    private static func remarks(_ own: [ContentionRow: Figures], _ dispatch: [ContentionRow: Figures]) -> [String] {
        func slowdown(_ row: ContentionRow) -> Behind.Row { (row.rawValue, own[row.reference]?.ratio(to: own[row])) }
        let processors = ProcessInfo.processInfo.activeProcessorCount
        func ideal(_ row: ContentionRow, _ threads: Int) -> Behind.Row {
            let (name, ratio) = slowdown(row)
            return (name, ratio.map { $0 * Double(min(threads, processors)) })
        }
        let shared = "one lock guards a service. Threads that schedule much need a service each"
        let apart = "services share no lock, but the threads share the allocator, and the machine with other programs"
        let beside = "the ticks and the other thread's calls take turns at the service's lock"
        let rivals = ContentionRow.allCases.map { ($0.rawValue, dispatch[$0]?.ratio(to: own[$0])) }
        return [
            Behind.remark([slowdown(.two), slowdown(.eight)], above: Behind.peer, "the time of 1 thread", shared),
            Behind.remark([ideal(.twoApart, 2), ideal(.fourApart, 4)], above: 1.25, "the time if none waited", apart),
            Behind.remark(
                [slowdown(.ticksBeside), slowdown(.pairsBeside)],
                above: Behind.peer,
                "the time alone",
                beside
            ),
            Behind.remark(rivals, above: Behind.peer, "the time of Dispatch", ""),
        ]
        .compactMap(\.self)
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
        for (row, services) in [(ContentionRow.twoApart, 2), (.fourApart, 4)] {
            let contenders = try (0..<services).map { _ in try type.init() }
            let workers = contenders.map { Workers(1, $0.pairs()) }
            Clock.sleep(milliseconds: 300)
            figures[row] = zip(workers, contenders).map { worker, contender in worker.stop { contender.settle() } }
                .reduce(0, +)
            for contender in contenders { contender.close() }
        }
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
    case one = "pairs by 1 thread on 1 service"
    case two = "pairs by 2 threads on 1 service"
    case eight = "pairs by 8 threads on 1 service"
    case twoApart = "pairs by 2 threads on 2 services, one each"
    case fourApart = "pairs by 4 threads on 4 services, one each"
    case ticks = "ticks of 1,000 always-due timers"
    case ticksBeside = "the same beside a churning thread"
    case pairsBeside = "that thread's pairs at the same time"

    var reference: ContentionRow {
        switch self {
        case .one, .two, .eight, .twoApart, .fourApart, .pairsBeside: .one
        case .ticks, .ticksBeside: .ticks
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
