#if Instrument
internal import ArgumentParser
internal import BackendComparison
internal import PreciseTimer

/// The command. Each subcommand parses its options, has the work done, and prints.
@main
struct CompareBackends: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare-backends",
        abstract: "Measure how late timers tick on this machine, and what they cost.",
        discussion: """
            Without a subcommand it measures: `compare-backends --period 250us` is \
            `compare-backends run --period 250us`.

            Examples:
              compare-backends
              compare-backends --period 5ms --need 'p99 < 200us, cpu < 2%'
              compare-backends --load idle,busy -o out.json -o out.html
              compare-backends show before.json after.json
              compare-backends --need 'timerfd.p50 later 20% than before.json'
              compare-backends doctor

            Options that take lists, such as --rows, add up if repeated. Give each other option once.

            Exit codes: 0 done, and every need is met; 1 a need is not met, or the measurement failed; 2 an option or \
            a file makes no sense; 3 the system refuses a row or a --thread wish; 4 a need is undecided; 128 plus \
            the signal's number if a signal ended it.
            """,
        version: "compare-backends \(BackendComparison.version)",
        subcommands: [Run.self, Show.self, Doctor.self],
        defaultSubcommand: Run.self
    )

    /// Runs the command. An error prints one line and has an exit code of ours.
    static func main() {
        Terminal.surviveClosedStreams()
        do {
            // Swift reads them in /proc, and has none without it. Not even the name of the command would be there.
            if CommandLine.arguments.isEmpty {
                throw Failure.failed(
                    "reading the arguments: /proc does not show them (mount it: mount -t proc proc /proc)"
                )
            }
            let arguments = CommandLine.arguments.dropFirst().prefix { $0 != "--" }
            if let option = repeated(in: arguments) { throw Failure.invalid("\(option) is given twice: give it once") }
            var command = try parseAsRoot()
            try command.run()
        } catch {
            // A help text.
            if exitCode(for: error) == .success { exit(withError: error) }
            let failure = Failure(for: error)
            var console = Console()
            if !failure.description.isEmpty { console.say(failure.message) }
            exit(withError: ExitCode(failure.code))
        }
    }

    /// Options whose values add up, and flags. Of any other option that stands twice, the parser would drop the first.
    private static let repeatable: Set<Substring> = [
        "--rows", "--load", "--thread", "--need", "--output", "--plant", "--quiet", "--wide", "--help",
        "--version",
    ]

    /// The first option that stands twice, and may not. The value of no option begins with two dashes.
    private static func repeated(in arguments: some Sequence<String>) -> Substring? {
        var before: Set<Substring> = []
        return arguments.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } }
            .first { !repeatable.contains($0) && !before.insert($0).inserted }
    }
}

/// Says what limits precision on this machine.
struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what limits the precision of timers on this machine, and what to do about it.",
        discussion: """
            Looks at the clock, the processors, the kernel, other programs, the rights of this process and its time \
            zone. It changes nothing, and takes less than a second. Run it as the same user and in the same container \
            as your program.

            Each finding is one of these:
              good     there is nothing to improve
              usual    as on most machines; one set up for real-time work does better
              limits   timers are later because of it
              differs  the C library and Foundation differ; timers are on time
              unknown  the kernel does not show it
            """
    )

    func run() throws {
        var console = Console()
        let display = console.results
        try console.print(MachineFacts.current.screen(width: display.width ?? 80, inColour: display.obeysEscapes))
    }
}

/// Shows saved results again.
struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show saved results: one alone, or several side by side.",
        usage: "compare-backends show [<options>] <file> ..."
    )

    @Argument(help: ArgumentHelp("A saved result (JSON); - is standard input.", valueName: "file"))
    var files: [String]

    @OptionGroup
    var output: OutputOptions

    func run() throws {
        var console = Console()
        let reports = try files.map { try Report(file: $0) }
        guard !output.files.contains(where: { $0.format == .ticks }) else {
            throw Failure.invalid("saved results have no ticks: write ticks.csv while measuring")
        }
        guard reports.count == 1 else {
            guard output.needs.isEmpty, output.files.isEmpty else {
                throw Failure.invalid("--need and -o are for one result: name one file")
            }
            try console.print(Report.sideBySide(Array(zip(files, reports)), width: console.results.width))
            return
        }
        let files = try output.openFiles()
        try output.finish(reports[0], files, &console)
    }
}
#else
internal import Glibc
internal import TimerKernel

/// The command of a build without its trait, such as that of a dependency.
@main
enum WithoutTrait {
    static func main() {
        StandardError.writeLine("compare-backends is left out: build it with the package trait Instrument")
        exit(2)
    }
}
#endif
