import ArgumentParser
import CBenchmark
import Foundation
import PreciseTimer
import Synchronization

/// How late the ticks of one service are, beside busy processes or none, and what they cost. For `Benchmarks/beside`.
struct OnTimeCase: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "on-time-case", shouldDisplay: false)

    @Argument var backend: String
    @Option(help: "Periods are spread between the shortest and the longest.") var timers = 1
    @Option(help: "In nanoseconds.") var shortest: Int64 = 1_000_000
    @Option(help: "In nanoseconds. Default: the shortest.") var longest: Int64?
    @Option(help: "The number of spinning processes beside it.") var beside = 0
    @Flag(help: "All of them in another session, as the processes of another service are.") var apart = false
    @Option(help: "The hybrid's budget, as a share of a core. Default: the library's.") var budget: Double?
    @Option(help: "The hybrid's longest margin in microseconds. Default: the library's.") var margin: Int?
    @Option var milliseconds: UInt64 = 3_000

    func run() throws {
        guard let backend = TimerService.Backend(rawValue: backend) else {
            throw ValidationError("there is no backend \(backend)")
        }
        let others = try apart ? [BusyProcess(sessionOf: beside)] : (0..<beside).map { _ in try BusyProcess() }
        defer { for other in others { other.end() } }
        var spin = TimerService.SpinOptions()
        if let budget { spin.budget = budget }
        if let margin { spin.maximum = .microseconds(margin) }
        let service = try TimerService(backend, spin: backend == .hybrid ? spin : nil)
        let record = LatenessRecord()
        let step = ((longest ?? shortest) - shortest) / Int64(max(timers - 1, 1))
        for number in 0..<Int64(timers) {
            let period = shortest + step * number
            try PreciseTimer.schedule(.every(.nanoseconds(period)), on: service, target: record) { record, tick in
                record.add(tick, period: UInt64(period))
            }
        }
        Clock.sleep(milliseconds: 300)
        record.begin()
        let (start, own, theirs) = (Clock.now(), Clock.processorTime, others.map(\.processorTime).reduce(0, +))
        Clock.sleep(milliseconds: milliseconds)
        let (end, ownEnd, theirsEnd) = (Clock.now(), Clock.processorTime, others.map(\.processorTime).reduce(0, +))
        service.shutdown()
        // A handler may still be running.
        Clock.sleep(milliseconds: 20)
        record.report()
        let elapsed = Double(end - start)
        Program.report("CPU %", 100 * Double(ownEnd - own) / elapsed)
        if beside > 0, !apart { Program.report("the others' CPU %", 100 * Double(theirsEnd - theirs) / elapsed) }
    }
}

/// What a service's ticks were like. Only the service's thread adds to it, and it is read after the service's end.
private final class LatenessRecord: @unchecked Sendable {
    private let hasBegun = Atomic(false)
    private var lateness = TimeBins()
    private var missed: UInt64 = 0

    func begin() { hasBegun.store(true, ordering: .releasing) }

    /// A missed deadline is as late as the tick that carried it.
    func add(_ tick: PreciseTimer.Tick, period: UInt64) {
        guard hasBegun.load(ordering: .acquiring) else { return }
        let late = tick.delivered.nanoseconds - tick.deadline.nanoseconds
        for deadline in 0...UInt64(tick.missed) { lateness.record(late - min(late, deadline * period)) }
        missed += UInt64(tick.missed)
    }

    func report() {
        for (name, share) in [("p50 µs", 0.5), ("p99 µs", 0.99), ("p99.9 µs", 0.999)] {
            Program.report(name, lateness.percentile(share) / 1e3)
        }
        Program.report("missed %", 100 * Double(missed) / Double(max(lateness.count, 1)))
        Program.report("ticks", Double(lateness.count))
    }
}

/// A process that does nothing but spin until its parent ends.
struct BusyProcess {
    private let process = Process()

    /// - Parameter others: so many processes spin in a session of their own; nil for one in that of this process.
    /// - Throws: the error of the system that refuses a process.
    init(sessionOf others: Int? = nil) throws {
        process.executableURL = URL(fileURLWithPath: Program.own)
        process.arguments = [SpinCase.configuration.commandName ?? ""] + (others.map { ["\($0)"] } ?? [])
        try process.run()
    }

    /// In nanoseconds: the first number of schedstat (the kernel's Documentation/scheduler/sched-stats.rst).
    var processorTime: UInt64 {
        let path = "/proc/\(process.processIdentifier)/schedstat"
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text?.split(separator: " ").first.flatMap { UInt64($0) } ?? 0
    }

    func end() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// The program of a busy process.
struct SpinCase: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "spin-case", shouldDisplay: false)

    @Argument var processesOfSession: Int32?

    func run() {
        if let processesOfSession {
            bench_spin_in_own_session(processesOfSession)
        } else {
            bench_spin_until_parent_ends()
        }
    }
}
