import Foundation

/// Counts instructions per operation: runs N and 2 N operations under callgrind and divides the difference by N.
///
/// `counted` prints a line for each operation; `counted OPERATION N` performs that operation N times.
@main
enum Counted {
    /// Wrong arguments, or output of callgrind without a count.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        if let name = arguments.first {
            guard let operation = Operation(rawValue: name), let count = arguments.last.flatMap({ Int($0) }) else {
                throw Failure(
                    description: "counted [\(Operation.allCases.map(\.rawValue).joined(separator: "|")) NUMBER]"
                )
            }
            return try operation.perform(count)
        }
        for operation in Operation.allCases {
            let count = 2_000
            let difference = try lowest(operation, 2 * count) - lowest(operation, count)
            print(operation.rawValue, Int((Double(difference) / Double(count)).rounded()))
        }
    }

    /// The lowest of three counts: a thread of the library looks after all timers once a second, rarely in so short a run.
    private static func lowest(_ operation: Operation, _ count: Int) throws -> Int {
        try (0..<3).map { _ in try instructions(of: operation, count) }.reduce(.max, min)
    }

    /// The instructions of a whole process that performs an operation `count` times.
    private static func instructions(of operation: Operation, _ count: Int) throws -> Int {
        let (process, pipe) = (Process(), Pipe())
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "SWIFT_DETERMINISTIC_HASHING=1", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", own,
        ]
        process.arguments? += [operation.rawValue, "\(count)"]
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard let line = output.split(separator: "\n").last(where: { $0.contains("Collected : ") }),
            let total = line.split(separator: " ").last.flatMap({ Int($0) })
        else { throw Failure(description: "callgrind gave no count of \(operation.rawValue)\n\(output)") }
        return total
    }
}
