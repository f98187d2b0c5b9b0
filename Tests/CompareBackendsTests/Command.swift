import Foundation
import TestSupport

/// The built command, run as a child.
enum Command {
    /// How a run ended.
    struct Outcome: Sendable {
        let status: Int32
        let wasSignalled: Bool
        let output: String
        let complaint: String

        /// The lines on standard error.
        var complaints: [Substring] { complaint.split(separator: "\n") }
    }

    /// Runs the command to its end.
    ///
    /// - Parameters:
    ///   - arguments: the arguments of the command.
    ///   - output: the file of the results; nil for a file that the outcome shows.
    ///   - tool: a program with its arguments that runs the command, as `setpriv`.
    ///   - redirection: a shell's redirection of descriptors, as `>&-`.
    ///   - isTime: whether it is time to press Ctrl-C; nil for a run without Ctrl-C.
    /// - Returns: the outcome of the run.
    /// - Throws: an error if the command cannot be started.
    static func run(
        _ arguments: [String],
        output: FileHandle? = nil,
        by tool: [String] = [],
        redirection: String = "",
        interruptedOnce isTime: (@Sendable () -> Bool)? = nil
    ) async throws -> Outcome {
        // It blocks until the command has ended.
        try await onOwnThread { try runHere(arguments, output, tool, redirection, interruptedOnce: isTime) }
    }

    private static func runHere(
        _ arguments: [String],
        _ output: FileHandle?,
        _ tool: [String],
        _ redirection: String,
        interruptedOnce isTime: (() -> Bool)?
    ) throws -> Outcome {
        let process = Process()
        if !tool.isEmpty {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = tool + [try executable.path] + arguments
        } else if redirection.isEmpty {
            process.executableURL = try executable
            process.arguments = arguments
        } else {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "exec \"$0\" \"$@\" \(redirection)", try executable.path] + arguments
        }
        // A CI system's runner has them, and then the command writes what no test expects.
        process.environment = ProcessInfo.processInfo.environment
            .filter { !["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"].contains($0.key) }
        let files = try (0..<2).map { _ in try TemporaryFile() }
        process.standardOutput = output ?? files[0].handle
        process.standardError = files[1].handle
        try process.run()
        if let isTime {
            while process.isRunning && !isTime() { Foundation.Thread.sleep(forTimeInterval: 0.02) }
            process.interrupt()
        }
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus,
            wasSignalled: process.terminationReason == .uncaughtSignal,
            output: try files[0].text,
            complaint: try files[1].text
        )
    }

    /// Whether cyclictest can measure, and a program can be run without the rights that it demands.
    static let canLoseRights: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", "command -v cyclictest && chrt -f 1 true && setpriv --bounding-set=-sys_nice true",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// The command's own file.
    static var path: String { get throws { try executable.path } }

    /// The command lies where the tests' own bundle was built.
    private static var executable: URL {
        get throws {
            let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
            return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("compare-backends")
        }
    }
}

/// A file that is removed with the value. Unlike a pipe it cannot fill up and stop the child.
final class TemporaryFile {
    let handle: FileHandle
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    init(_ content: String = "") throws {
        try Data(content.utf8).write(to: url)
        handle = try FileHandle(forWritingTo: url)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var path: String { url.path }

    /// The written text.
    var text: String { get throws { String(decoding: try Data(contentsOf: url), as: UTF8.self) } }
}
