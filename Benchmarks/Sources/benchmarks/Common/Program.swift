import Foundation

/// Runs other programs, and this program again for figures that need a separate process.
enum Program {
    /// A program that could not do its work.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The path of this program.
    static let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path

    /// The path of a program; nil if it is not installed.
    static func find(_ name: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end. Returns its output.
    static func run(_ path: String, _ arguments: [String]) throws -> String {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(([path] + arguments).joined(separator: " ")) failed\n\(output)")
        }
        return output
    }

    /// Runs a command of this program in a separate process. Returns the figures printed with `report`.
    static func figures(of arguments: [String]) throws -> [String: Double] {
        figures(in: try run(own, arguments))
    }

    /// Prints a figure for the parent process.
    static func report(_ name: String, _ figure: Double) { print("\(name)=\(figure)") }

    static func figures(in output: String) -> [String: Double] {
        output.split(separator: "\n")
            .reduce(into: [:]) { figures, line in
                let parts = line.split(separator: "=")
                if parts.count == 2 { figures[String(parts[0])] = Double(parts[1]) }
            }
    }
}

/// Reports progress on standard error.
func progress(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
