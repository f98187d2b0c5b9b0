internal import ArgumentParser
internal import PreciseTimer

/// The command. Each subcommand parses its options, has the work done, and prints.
@main
struct CompareBackends: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare-backends",
        abstract: "Measures how precisely timers tick on this machine, and at what price.",
        discussion: """
            Without a subcommand it measures: `compare-backends --period 250us` is \
            `compare-backends run --period 250us`. `compare-backends run --help` explains the options.

            Examples:
              compare-backends
              compare-backends --peers --load idle --load cpu:2 --report out.html
              compare-backends --output before.json
              compare-backends --baseline before.json --fail-if 'timerfd.p50 later 20% than baseline'
              compare-backends against ../before/.build/release/compare-backends
              compare-backends explain --later-than 1ms
              compare-backends doctor
              compare-backends recommend --period 5ms --lateness 200us --cpu 2

            Exit codes: 0 done, 1 a rule or the measurement failed, 2 an option or a file makes no sense, 3 a named \
            backend is unavailable, 4 a rule is undecided, 130 ended by Ctrl-C.
            """,
        version: "compare-backends \(Version.name)\(Version.commit.map { " (\($0.prefix(10)))" } ?? "")",
        subcommands: [
            Run.self, Explain.self, Against.self, Recommend.self, Doctor.self, Show.self, Diff.self, Merge.self,
            ReportPage.self, List.self,
        ],
        defaultSubcommand: Run.self
    )

    /// Runs the command. An error prints one line and has an exit code of ours.
    static func main() {
        Console.surviveClosedStreams()
        // Loads make the measured handlers slow on purpose.
        SlowHandlerWarnings.turnOff()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            Exit(for: error).now()
        }
    }
}
