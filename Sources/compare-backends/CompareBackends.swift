internal import ArgumentParser
internal import FoundationEssentials
internal import HostSystem
internal import PreciseTimer
internal import TimerResults

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

/// The version of the command, and the sources that it was built from.
enum Version {
    static let name = "0.1.0"

    /// The commit of the sources' repository; nil if they are in no repository, or if another commit was checked
    /// out or made after the command was built.
    static var commit: String? {
        // This file is three folders below the repository.
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        guard let built = change(of: "/proc/self/exe"), let folder = gitFolder(of: folder),
            let log = ProcFile.text("\(folder)/logs/HEAD"), let checkedOut = change(of: "\(folder)/logs/HEAD"),
            checkedOut < built
        else { return nil }
        // Each line of the log has the commit before, and the commit that was checked out or made.
        let words = log.split(separator: "\n").last?.split(separator: " ")
        return words.flatMap { $0.count > 1 ? String($0[1]) : nil }
    }

    /// The folder of a working tree's repository. A tree beside the first one has a file that names its folder.
    private static func gitFolder(of folder: Substring) -> String? {
        let path = "\(folder)/.git"
        guard let text = ProcFile.text(path) else { return path }
        let name = "gitdir: "
        return text.split(separator: "\n").first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
    }

    /// When a file last changed; nil if there is no such file.
    private static func change(of path: String) -> Date? {
        let file = URL(filePath: path).resolvingSymlinksInPath().path
        return (try? FileManager.default.attributesOfItem(atPath: file))?[.modificationDate] as? Date
    }

    /// The origin of a measurement that ends now.
    static func origin(since start: Date) -> Origin {
        Origin(
            date: start.formatted(.iso8601),
            seconds: (Date.now.timeIntervalSince(start) * 10).rounded() / 10,
            version: name,
            commit: commit
        )
    }
}
