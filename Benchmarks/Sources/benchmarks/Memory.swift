import ArgumentParser
import CBenchmark
import Dispatch
import NIOCore
import NIOPosix
import PreciseTimer

/// Bytes per timer, and the share that stays after the timers' end.
struct Memory: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Bytes per timer, and how much memory stays after the timers have ended."
    )

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var table = Table(
            title: "Bytes per timer at \(grouped(options.many)) (Dispatch at 100,000); × Dispatch",
            columns: ["", "resident", "allocated", "stays of the peak"]
        )
        var rows: [MemoryCase.Kind: [String: Double]] = [:]
        for kind in MemoryCase.Kind.allCases {
            progress("memory: \(kind.title)")
            let count = kind == .dispatch ? min(options.many, DispatchTimers.mostTimers) : options.many
            rows[kind] = try Program.figures(of: ["memory-case", kind.rawValue, "\(count)"])
        }
        for kind in MemoryCase.Kind.allCases {
            let sizes = ["resident", "allocated"]
                .map { name in
                    let reference = kind == .dispatch ? nil : rows[.dispatch]?[name].map { Figures(values: [$0]) }
                    return rows[kind]?[name].map { Figures(values: [$0]).text(.bytes, against: reference) } ?? "–"
                }
            let stays = rows[kind]?["stays"].map { "\(($0 * 100).short) %" } ?? "–"
            table.rows.append([kind.title] + sizes + [stays])
        }
        let ratios = MemoryCase.Kind.allCases.filter(\.isOurs)
            .map { kind -> Behind.Row in
                let sizes = [rows[kind]?["resident"], rows[.dispatch]?["resident"]].compactMap(\.self)
                return (kind.title, sizes.count == 2 ? sizes[0] / sizes[1] : nil)
            }
        table.remarks += [Behind.remark(ratios, above: Behind.peer, "Dispatch's memory", "")].compactMap(\.self)
        return [table]
    }
}

extension MemoryCase.Kind {
    fileprivate var title: String {
        switch self {
        case .dropped: "one target, handle dropped"
        case .held: "one target, handle held"
        case .ownTarget: "own target with its side table, handle dropped"
        case .ownTargetHeld: "own target with its side table, handle held"
        case .dispatch: "DispatchSourceTimer, one target"
        case .nio: "SwiftNIO's scheduled task, one target"
        }
    }

    fileprivate var isOurs: Bool { self != .dispatch && self != .nio }
}

/// The memory of many timers of one kind, measured in a separate process.
struct MemoryCase: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "memory-case", shouldDisplay: false)

    /// Which timers, and which references to them are held.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case dropped
        case held
        case ownTarget
        case ownTargetHeld
        case dispatch
        case nio
    }

    @Argument var kind: Kind
    @Argument var count: Int

    func run() throws {
        switch kind {
        case .dropped: try measureDropped()
        case .held: try measureHeld(sharing: true)
        case .ownTarget: try measureOwnTargets()
        case .ownTargetHeld: try measureHeld(sharing: false)
        case .dispatch: measureSources()
        case .nio: try measureTasks()
        }
    }

    private func measureDropped() throws {
        let (service, target, before) = (try TimerService(.timerFD), Target(), Level.now())
        Ticks.expect(count)
        // Long enough to schedule them all.
        let deadline = TimerInstant(nanoseconds: Clock.now() + 1_000_000_000 + UInt64(count) * 8_000)
        for _ in 0..<count { _ = try timer(.once(at: deadline), on: service, target) }
        guard Ticks.count == 0 else { throw Program.Failure(description: "timers came due before all were scheduled") }
        let peak = Level.now()
        _ = try Ticks.wait()
        Level.report(before, peak, after: Level.trimmed(), count)
        withExtendedLifetime(target) {}
        service.shutdown()
    }

    private func measureOwnTargets() throws {
        let (service, targets) = (try TimerService(.timerFD), (0..<count).map { _ in Target() })
        let before = Level.now()
        for target in targets { _ = try timer(.once(after: .seconds(3_600)), on: service, target) }
        Level.report(before, Level.now(), after: nil, count)
        withExtendedLifetime(targets) { _ = service.shutdown() }
    }

    private func measureHeld(sharing: Bool) throws {
        let (service, shared) = (try TimerService(.timerFD), Target())
        let targets = (0..<count).map { _ in sharing ? shared : Target() }
        var timers = [PreciseTimer?](repeating: nil, count: count)
        let before = Level.now()
        for (number, target) in targets.enumerated() {
            timers[number] = try timer(.once(after: .seconds(3_600)), on: service, target)
        }
        let peak = Level.now()
        for number in timers.indices {
            timers[number]?.cancel()
            timers[number] = nil
        }
        // A weakly referenced target keeps its side table, so the remaining memory is measured only with a
        // shared target.
        Level.report(before, peak, after: sharing ? Level.trimmed() : nil, count)
        withExtendedLifetime(targets) { _ = service.shutdown() }
    }

    private func timer(
        _ schedule: PreciseTimer.Schedule,
        on service: TimerService,
        _ target: Target
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: service, target: target) { target, _ in target.tick() }
    }

    private func measureSources() {
        let (queue, target) = (DispatchQueue(label: "benchmark"), Target())
        var sources = [(any DispatchSourceTimer)?](repeating: nil, count: count)
        let before = Level.now()
        for number in sources.indices {
            sources[number] = DispatchTimers.source(on: queue, target, deadline: .now() + 3_600)
        }
        queue.sync {}
        let peak = Level.now()
        for number in sources.indices {
            sources[number]?.cancel()
            sources[number] = nil
        }
        queue.sync {}
        Level.report(before, peak, after: Level.trimmed(), count)
    }

    /// Cancels the tasks in the order of their deadlines, so that each search ends at its first element.
    private func measureTasks() throws {
        let count = count
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        try loop.submit {
            let target = Target()
            var tasks = [Scheduled<Void>?](repeating: nil, count: count)
            let before = Level.now()
            for number in tasks.indices {
                tasks[number] = loop.scheduleTask(in: .seconds(3_600)) { [weak target] in target?.tick() }
            }
            let peak = Level.now()
            for number in tasks.indices {
                tasks[number]?.cancel()
                tasks[number] = nil
            }
            Level.report(before, peak, after: Level.trimmed(), count)
            withExtendedLifetime(target) {}
        }
        .wait()
        try group.syncShutdownGracefully()
    }
}

/// The process's memory at one moment.
private struct Level {
    let resident: Double
    let allocated: Double

    static func now() -> Level { Level(resident: Double(bench_resident()), allocated: Double(bench_allocated())) }

    static func trimmed() -> Level {
        Clock.sleep(milliseconds: 100)
        bench_trim()
        return now()
    }

    static func report(_ before: Level, _ peak: Level, after: Level?, _ count: Int) {
        Program.report("resident", (peak.resident - before.resident) / Double(count))
        Program.report("allocated", (peak.allocated - before.allocated) / Double(count))
        guard let after else { return }
        Program.report("stays", max(0, after.resident - before.resident) / (peak.resident - before.resident))
    }
}
