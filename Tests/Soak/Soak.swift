import ArgumentParser
import Foundation
import HostSystem
import PreciseTimer
import TimerAlarms

/// The command: runs the soak, prints its progress and its report.
@main
struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timer-soak",
        abstract: "Runs many timers of every kind under churn, and checks that every promise is kept.",
        discussion: """
            Four threads schedule, cancel, pause, reschedule and fire timers on every backend and delivery, while \
            targets die and services come and go. Every tick is accounted for. The exit code is 0 if every promise was \
            kept, 1 with a list of broken promises, and 3 if the soak hung. Ctrl-C ends it early, with a report.
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
        try Self.watch(limit: .seconds(seconds + 150))
        let report = try await SoakRun(timers: timers, seconds: seconds, seed: seed).run()
        print(report.text)
        if !report.violations.isEmpty { throw ExitCode(1) }
    }

    /// Ends the process if it is still running after a limit.
    private static func watch(limit: Duration) throws {
        try Thread.start("soak.watchdog") {
            KernelClock.sleep(for: limit)
            StandardError.write("timer-soak: hung: not over after \(limit)\n")
            _exit(3)
        }
    }
}
