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
    ///   - signal: the signal that ends the run.
    ///   - isTime: whether it is time for the signal; nil for a run without one.
    /// - Returns: the outcome of the run.
    /// - Throws: an error if the command cannot be started.
    static func run(
        _ arguments: [String],
        output: FileHandle? = nil,
        by tool: [String] = [],
        redirection: String = "",
        signal: Int32 = SIGINT,
        once isTime: (@Sendable () -> Bool)? = nil
    ) async throws -> Child.Outcome {
        let shell = redirection.isEmpty ? [] : ["sh", "-c", "exec \"$0\" \"$@\" \(redirection)"]
        return try await Child.run(
            (tool.isEmpty ? [] : ["env"] + tool) + shell + [path] + arguments,
            output: output
        ) { id in
            guard let isTime else { return }
            while !ProcFS.mainThreadHasEnded(id), !isTime() { pause(.milliseconds(20)) }
            kill(id, signal)
        }
    }

    /// Whether this process has the right to a real-time priority, and a program can be run without it.
    static func canLoseRights() async throws -> Bool {
        let tools = "command -v prlimit && chrt -f 1 true && setpriv --bounding-set=-sys_nice true"
        return try await Child.run(["sh", "-c", tools]).code == 0
    }
}
