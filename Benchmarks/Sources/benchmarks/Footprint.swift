import ArgumentParser
import Foundation

/// What a program pays for the library besides its calls: the build, the size, the threads and the start.
struct Footprint: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Builds a small static program with one timer, beside the same one with a DispatchSourceTimer."
    )

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "precise-timer-footprint-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        var figures: [Side: [Column: Figures]] = [:]
        for side in Side.allCases { figures[side] = try build(side, in: folder) }
        progress("footprint: starting the programs")
        for _ in 0..<(options.quick ? 5 : 25) {
            for side in Side.allCases {
                for (column, figure) in try start(side, in: folder) {
                    figures[side, default: [:]][column, default: Figures()].values.append(figure)
                }
            }
        }
        let (own, dispatch) = (figures[.ours] ?? [:], figures[.dispatch] ?? [:])
        var table = Table(
            title: "What a static program with one timer pays; × the same with a DispatchSourceTimer",
            columns: [""] + Column.allCases.map(\.rawValue)
        )
        for side in Side.allCases {
            let cells = Column.allCases.map { column in
                figures[side]?[column]?.text(column.unit, against: side == .ours ? dispatch[column] : nil) ?? "–"
            }
            table.rows.append([side.rawValue] + cells)
        }
        table.remarks += Column.allCases.compactMap { column in
            let row = (column.rawValue, own[column]?.ratio(to: dispatch[column]))
            return Behind.remark([row], above: Behind.peer, "Dispatch", column.reason)
        }
        return [table]
    }

    private enum Column: String, CaseIterable {
        case build = "clean release build"
        case size = "size, stripped"
        case threads
        case start = "start to first tick"

        var unit: Unit {
            switch self {
            case .build, .start: .time
            case .size: .megabytes
            case .threads: .count
            }
        }

        /// Why the program with this library may need more.
        var reason: String {
            switch self {
            case .build: "the library is compiled, too"
            case .size: "the library is in the program, and the parts of Swift's that it uses"
            case .threads: "a service has a thread of its own, and another one looks after all services"
            case .start: "the first timer starts the service and its threads"
            }
        }
    }

    private enum Side: String, CaseIterable {
        case ours = "PreciseTimer"
        case dispatch = "DispatchSourceTimer"

        /// The lines of the program that schedule a timer, which calls `end()`.
        var timer: String {
            switch self {
            case .ours:
                """
                import PreciseTimer
                let timer = try PreciseTimer.schedule(.once(after: .zero)) { _, _ in end() }
                """
            case .dispatch:
                """
                import Dispatch
                let timer = DispatchSource.makeTimerSource(flags: .strict, queue: DispatchQueue(label: "timer"))
                timer.setEventHandler { @Sendable in end() }
                timer.schedule(deadline: .now(), leeway: .nanoseconds(0))
                timer.activate()
                """
            }
        }

        var package: String {
            // This file is four folders deep in the library's.
            let root = (0..<4).reduce(URL(filePath: #filePath)) { file, _ in file.deletingLastPathComponent() }
            let library = ".package(name: \"precise-timer\", path: \"\(root.path)\", traits: [])"
            let product = ".product(name: \"PreciseTimer\", package: \"precise-timer\")"
            return """
                // swift-tools-version: 6.2
                import PackageDescription
                let package = Package(
                    name: "footprint",
                    dependencies: [\(self == .ours ? library : "")],
                    targets: [.executableTarget(name: "footprint", dependencies: [\(self == .ours ? product : "")])]
                )
                """
        }
    }

    /// Builds a side's program, and strips it.
    private static func build(_ side: Side, in folder: URL) throws -> [Column: Figures] {
        progress("footprint: building with \(side.rawValue)")
        let package = folder.appending(path: side.rawValue)
        let sources = package.appending(path: "Sources/footprint")
        try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
        try side.package.write(to: package.appending(path: "Package.swift"), atomically: true, encoding: .utf8)
        try (end + side.timer + "\nwhile true { pause() }\n")
            .write(to: sources.appending(path: "main.swift"), atomically: true, encoding: .utf8)
        let build = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--package-path", package.path]
        let time = try Clock.time { _ = try Program.run("/usr/bin/env", build) }
        let program = package.appending(path: ".build/release/footprint").path
        _ = try Program.run("/usr/bin/env", ["strip", program])
        let size = try FileManager.default.attributesOfItem(atPath: program)[.size] as? Int ?? 0
        return [.build: Figures(values: [time]), .size: Figures(values: [Double(size)])]
    }

    /// Runs a side's program, which ends with its first tick.
    private static func start(_ side: Side, in folder: URL) throws -> [Column: Double] {
        let start = Clock.now()
        let program = folder.appending(path: "\(side.rawValue)/.build/release/footprint").path
        let figures = Program.figures(in: try Program.run(program, []))
        return [.start: (figures["now"] ?? .nan) - Double(start), .threads: figures["threads"] ?? .nan]
    }

    /// What both programs do in their tick. A folder has a link for itself, one from its parent, and one for each
    /// thread.
    private static let end = """
        import Glibc
        @Sendable func end() -> Never {
            var (time, threads) = (timespec(), stat())
            clock_gettime(CLOCK_MONOTONIC, &time)
            stat("/proc/self/task", &threads)
            print("now=\\(time.tv_sec * 1_000_000_000 + time.tv_nsec)")
            print("threads=\\(threads.st_nlink - 2)")
            exit(0)
        }

        """
}
