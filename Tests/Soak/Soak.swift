import Glibc
import PreciseTimer
import Synchronization
import TestSupport
import TimerKernel

#if Instrument
import ArgumentParser

/// The command: runs the soak, prints its progress and its report.
@main
struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timer-soak",
        abstract: "Runs many timers of every kind under churn, and checks that every promise is kept.",
        discussion: """
            Four threads schedule, cancel, pause, reschedule and fire timers on every backend and delivery, while \
            targets die and services come and go. Every deadline is accounted for, and nothing may leak. The exit code \
            is 0 if every promise was kept, 1 with a list of broken promises, and 3 if the soak hung. Ctrl-C ends it \
            early, with a report.
            """
    )

    @Option(help: "How long the timers run, in seconds; setting up and ending take some seconds more.")
    var seconds = 60

    @Option(help: "How many timers exist at a time.")
    var timers = 20_000

    @Option(
        help: "The seed of all random choices. Threads still meet differently in each run. Default: a new one."
    )
    var seed: UInt64?

    func validate() throws {
        if seconds < 1 || timers < 4 { throw ValidationError("A soak needs at least one second and four timers.") }
    }

    func run() async throws {
        let seed = seed ?? .random(in: 0...999_999)
        print("timer-soak: \(timers) timers for \(seconds) s, seed \(seed)")
        Interrupt.watch()
        try Self.watch(limit: .seconds(seconds + 1_800))
        let report = try await SoakRun(timers: timers, seconds: seconds, seed: seed).run()
        print(report.text)
        if !report.violations.isEmpty { throw ExitCode(1) }
    }

    /// Ends the process if it is still running after a limit.
    private static func watch(limit: Duration) throws {
        try Thread.start("soak.watchdog") {
            KernelClock.sleep(for: limit)
            StandardError.writeLine("timer-soak: hung: not over after \(limit)")
            _exit(3)
        }
    }
}
#else
/// The soak of a build without its trait.
@main
enum WithoutTrait {
    static func main() {
        StandardError.writeLine("timer-soak is left out: build it with the package trait Instrument")
        exit(2)
    }
}
#endif

/// Ctrl-C: the first ends the soak with a report, and the second the process.
enum Interrupt {
    private static let hasCome = Atomic(false)

    static var isRequested: Bool { hasCome.load(ordering: .relaxed) }

    static func watch() {
        // The value must exist before the signal handler needs it.
        hasCome.store(false, ordering: .relaxed)
        signal(SIGINT) { number in
            Interrupt.hasCome.store(true, ordering: .relaxed)
            signal(number, SIG_DFL)
        }
    }
}

/// The counts and findings of a soak, as text.
struct SoakReport {
    let text: String
    let violations: [String]

    init(tally: Tally, seed: UInt64, wasInterrupted: Bool, atStart: ProcessUse, growth: Growth) {
        violations = tally.violations
        let last = growth.samples.last
        let rows = [
            ("timers scheduled", "\(tally.scheduled.value)"), ("  refused by a shutdown", "\(tally.refused.value)"),
            ("timers ended", "\(tally.ended.value)"),
            ("operations of the churn", "\(tally.operations.value)"),
            ("own services made", "\(tally.servicesMade.value)"),
            ("sequences, time-outs, retries, triggers", "\(tally.calls.value)"),
            ("ticks on the grid", "\(tally.ticks.value)"),
            ("deadlines missed", "\(tally.missed.value)"),
            ("deadlines accounted for", "\(tally.ticks.value + tally.missed.value)"),
            ("extra ticks", "\(tally.extraTicks.value)"), ("handlers begun", "\(tally.begun.value)"),
            ("handlers returned", "\(tally.returned.value)"), ("targets left", "\(tally.targets.value)"),
            ("captures left", "\(tally.captures.value)"),
            ("memory, first and last (MB)", "\(atStart.memory / 1_024), \((last?.memory ?? 0) / 1_024)"),
            ("descriptors, first and last", "\(atStart.descriptors), \(last?.descriptors ?? 0)"),
            ("threads, first and last", "\(atStart.threads), \(last?.threads ?? 0)"), ("seed", "\(seed)"),
        ]
        let width = rows.map(\.0.count).max() ?? 0
        var lines = rows.map { $0.0 + String(repeating: " ", count: width - $0.0.count + 2) + $0.1 }
        if wasInterrupted { lines.insert("ended early by Ctrl-C", at: 0) }
        lines += violations.isEmpty ? ["every promise was kept"] : ["VIOLATIONS:"] + violations.map { "  - \($0)" }
        text = lines.joined(separator: "\n")
    }
}

/// The process's resources at one moment.
struct ProcessUse {
    /// Resident memory in kilobytes.
    let memory: Int
    let descriptors: Int
    let threads: Int

    static var now: ProcessUse {
        let threads = ProcFS.threads(named: "").count
        return ProcessUse(memory: ProcFS.residentBytes / 1_024, descriptors: ProcFS.openDescriptors, threads: threads)
    }
}

/// Tells whether the process's resources grow.
///
/// The first third of the samples is warm-up: pools, queues and caches fill. The maximum of the last third is
/// compared with that of the middle third. Memory may be a tenth and 16 MB higher, because the allocator returns
/// pages late. Descriptors may be 48 higher and threads 32: some ten services come and go at random moments, each
/// with up to three descriptors and a thread, and Dispatch keeps idle workers for some seconds.
struct Growth {
    private(set) var samples: [ProcessUse] = []

    mutating func add(_ sample: ProcessUse) { samples.append(sample) }

    /// The resources that have grown; empty for fewer than nine samples.
    var findings: [String] {
        let third = samples.count / 3
        guard third >= 3 else { return [] }
        let (middle, last) = (samples[third..<(2 * third)], samples[(2 * third)...])
        func compare(_ name: String, _ value: (ProcessUse) -> Int, _ allowed: (Int) -> Int) -> String? {
            let (before, after) = (middle.map(value).max() ?? 0, last.map(value).max() ?? 0)
            return after > allowed(before) ? "\(name) grew from \(before) to \(after)" : nil
        }
        return [
            compare("memory (kB)", \.memory) { $0 + $0 / 10 + 16_384 },
            compare("open descriptors", \.descriptors) { $0 + 48 },
            compare("threads", \.threads) { $0 + 32 },
        ]
        .compactMap(\.self)
    }
}
