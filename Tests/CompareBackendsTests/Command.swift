import Foundation
import Glibc
import TestSupport

/// The built command, run as a child.
enum Command {
    static let path = Child.path(of: "compare-backends")

    /// Runs the command to its end.
    ///
    /// - Parameters:
    ///   - arguments: the arguments of the command.
    ///   - output: the file of the results; nil for a file that the outcome shows.
    ///   - tool: a program with its arguments, or variables, that runs the command, as `setpriv`.
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
    ) async throws -> Child.Outcome {
        let shell = redirection.isEmpty ? [] : ["sh", "-c", "exec \"$0\" \"$@\" \(redirection)"]
        return try await Child.run(
            (tool.isEmpty ? [] : ["env"] + tool) + shell + [path] + arguments,
            // A CI system's runner has them, and then the command writes what no test expects.
            environment: ["GITHUB_ACTIONS": "", "GITHUB_STEP_SUMMARY": ""],
            output: output,
            limit: 600
        ) { id in
            guard let isTime else { return }
            while !ProcFS.mainThreadHasEnded(id), !isTime() { pause(.milliseconds(20)) }
            kill(id, SIGINT)
        }
    }

    /// Whether cyclictest can measure, and a program can be run without the rights that it demands.
    static func canLoseRights() async throws -> Bool {
        let tools = "command -v cyclictest && chrt -f 1 true && setpriv --bounding-set=-sys_nice true"
        return try await Child.run(["sh", "-c", tools], limit: 60).code == 0
    }
}
