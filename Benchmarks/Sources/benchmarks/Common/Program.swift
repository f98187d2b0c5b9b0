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

/// Programs of another package that print their own figures.
struct Beside {
    static let names = ["one-object", "packed-slots"]

    private let folder: String

    /// Builds the programs, outside their package, which may be read-only.
    init(package: String) throws {
        folder = NSTemporaryDirectory() + "precise-timer-beside"
        progress("scale: building the programs of \(package)")
        let arguments = ["build", "-c", "release", "--package-path", package, "--scratch-path", folder]
        _ = try Program.run("/usr/bin/env", ["swift"] + arguments)
    }

    /// Runs both programs. Returns their output.
    func run() throws -> [(name: String, output: String)] {
        try Self.names.map { ($0, try Program.run("\(folder)/release/\($0)", [])) }
    }
}

/// The output of the other programs, and the figures in it that match ours.
struct BesideFigures {
    private var figures: [Key: Figures] = [:]
    private var outputs: [(name: String, output: String)] = []

    private struct Key: Hashable {
        let program: String
        let ours: ScaleKey
    }

    mutating func add(_ outputs: [(name: String, output: String)]) {
        self.outputs = outputs.map { ($0.name, $0.output.trimmingCharacters(in: .newlines)) }
        for (name, output) in outputs {
            // The last figure of a kind counts: earlier passes warm up.
            for (key, figure) in Self.figures(in: output, of: name) {
                figures[Key(program: name, ours: key), default: Figures()].values.append(figure)
            }
        }
    }

    /// The matching figures, and the last round's outputs.
    func tables(_ ours: [ScaleKey: Figures]) -> [Table] {
        var table = Table(
            title: "PreciseTimer beside other programs; × the program's figure",
            columns: ["", "timers", "order", "program", "PreciseTimer", "its own"]
        )
        let sorted = figures.sorted {
            ($0.key.program, $0.key.ours.count, $0.key.ours.operation.rawValue)
                < ($1.key.program, $1.key.ours.count, $1.key.ours.operation.rawValue)
        }
        for (key, figures) in sorted {
            guard let own = ours[key.ours] else { continue }
            let (count, order) = (grouped(key.ours.count), key.ours.order.rawValue)
            let cells = [own.text(.nanoseconds, against: figures), figures.text(.nanoseconds)]
            table.rows.append([key.ours.operation.rawValue, count, order, key.program] + cells)
        }
        table.quotes = outputs.map { ("Output of \($0.name) in the last round", $0.output) }
        return [table]
    }

    private static func figures(in output: String, of name: String) -> [ScaleKey: Double] {
        var figures: [ScaleKey: Double] = [:]
        var count = 0
        func note(_ operation: Operation, _ order: Sample.Order, _ figure: Substring?) {
            guard let figure = figure.flatMap({ Double($0) }) else { return }
            let counted = operation == .pairAlone ? 1_000 : count
            figures[ScaleKey(side: .ours, count: counted, order: order, operation: operation)] = figure
        }
        for line in output.split(separator: "\n") {
            if let pending = line.firstMatch(of: /^(?:n|--) (\d+)/) { count = Int(pending.1) ?? 0 }
            if line.hasPrefix("-- none") { count = 0 }
            note(.reschedule, .random, line.firstMatch(of: /postpone random (\d+)/)?.1)
            note(.reschedule, .sequential, line.firstMatch(of: /postpone \+ clock read: ([\d.]+)/)?.1)
            note(.cancel, .random, line.firstMatch(of: /cancel random (\d+)/)?.1)
            note(.schedule, .random, line.firstMatch(of: /schedule (\d+) ns/)?.1)
            note(.pair, .random, line.firstMatch(of: /pair with \d+ pending (\d+)/)?.1)
            note(.fire, .random, line.firstMatch(of: /fire \d+: (\d+)/)?.1)
            note(count == 0 ? .pairAlone : .pair, .sequential, line.firstMatch(of: /schedule\+cancel: ([\d.]+)/)?.1)
        }
        return figures
    }
}
