import Foundation
import Testing

@Suite struct CommandTests {
    @Test func theListNamesEveryRow() throws {
        let outcome = try Command.run(["--list"])
        #expect(outcome.status == 0)
        #expect(outcome.complaint.isEmpty)
        let names = outcome.output.split(separator: "\n").compactMap { $0.split(separator: " ").first }
        #expect(names == ["dispatch", "timerfd", "libevent", "runloop", "floor-nanosleep", "floor-timerfd"])
    }

    @Test func helpExplainsEveryOption() throws {
        let outcome = try Command.run(["--help"])
        #expect(outcome.status == 0)
        #expect(outcome.complaint.isEmpty)
        for option in ["--backends", "--period", "--duration", "--rounds", "--format", "--list", "Examples"] {
            #expect(outcome.output.contains(option))
        }
    }

    @Test(arguments: [
        ["--period", "0ms"], ["--period", "-1"], ["--period", "nan"], ["--period", "inf"], ["--period", "1e400"],
        ["--period", "10000000000000000000s"], ["--period", ""], ["--period", "60 hz"], ["--period", "1\n2\u{1B}[31m"],
        ["--period"], ["--period", "1ns", "--duration", "1s"], ["--period", "5000000000m"],
        ["--duration", "0s"], ["--duration", "9ms"], ["--duration", "2000m"], ["--duration", "-5s"],
        ["--rounds", "0"], ["--rounds", "-1"], ["--rounds", "101"], ["--rounds", "99999999999999999999"],
        ["--rounds", "three"], ["--backends", "epoll"], ["--backends", ""], ["--backends", "timerfd,"],
        ["--backends", "floor-timerfd"], ["--format", "xml"], ["--list", "--format", "json"], ["--nonsense"], ["extra"],
    ])
    func nonsenseGetsOneLineAndExitCodeTwo(arguments: [String]) throws {
        let outcome = try Command.run(arguments)
        #expect(outcome.status == 2)
        #expect(!outcome.wasSignalled)
        #expect(outcome.output.isEmpty)
        #expect(outcome.complaints.count == 1)
        #expect(outcome.complaints.first?.hasPrefix("error: ") == true)
    }

    @Test func aShortRunMeasuresEveryAvailableBackend() throws {
        let outcome = try Command.run(Self.shortRun + ["--format", "json"])
        #expect(outcome.status == 0)
        #expect(outcome.complaints.count == outcome.complaints.filter { $0.hasPrefix("note: ") }.count)
        // Fails to decode if there is anything but JSON on standard output.
        let report = try JSONDecoder().decode(DecodedReport.self, from: Data(outcome.output.utf8))
        #expect(report.schema == 1)
        #expect(report.options.rounds == 1)
        #expect(report.options.backends.count >= 2)
        let names = report.options.backends + ["floor-nanosleep", "floor-timerfd"]
        #expect(report.rows.map(\.name) == names)
        for row in report.rows {
            #expect(row.kind == (row.name.hasPrefix("floor-") ? "reference" : "backend"))
            #expect(row.period_ns == 5_000_000)
            #expect(row.ticks > 0)
            #expect(row.ticks + row.missed >= 20)
            #expect(row.early == 0)
            #expect(row.lateness_ns.min >= 0)
            #expect(row.lateness_ns.min <= row.lateness_ns.p50)
            #expect(row.lateness_ns.p50 <= row.lateness_ns.p999)
            #expect(row.lateness_ns.p999 <= row.lateness_ns.max)
        }
    }

    @Test func theTableHasALineForEveryRow() throws {
        let outcome = try Command.run(Self.shortRun + ["--backends", "timerfd,timerfd"])
        #expect(outcome.status == 0)
        let lines = outcome.output.split(separator: "\n")
        for name in ["timerfd ", "floor-nanosleep ", "floor-timerfd "] {
            let count = lines.filter { $0.hasPrefix(name) }.count
            #expect(count == 1)
        }
    }

    @Test func controlCEndsItInGoodOrder() throws {
        let outcome = try Command.run([], interrupting: true)
        #expect(outcome.status == 130)
        #expect(!outcome.wasSignalled)
        #expect(outcome.output.isEmpty)
        #expect(outcome.complaints.last == "stopped by Ctrl-C, before a round was complete: no results")
    }

    @Test func resultsThatCannotBeWrittenAreAnError() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let outcome = try Command.run(["--list"], output: full)
        #expect(outcome.status == 1)
        #expect(outcome.complaint.hasPrefix("error: writing the results"))
    }

    private static let shortRun = ["--period", "5ms", "--duration", "100ms", "--rounds", "1"]
}

/// The JSON as a reader of it would declare it.
private struct DecodedReport: Decodable {
    struct Options: Decodable {
        let backends: [String]
        let rounds: Int
    }

    struct Lateness: Decodable {
        let min: Int
        let p50: Int
        let p999: Int
        let max: Int
    }

    // swift-format-ignore: AlwaysUseLowerCamelCase
    struct Row: Decodable {
        let name: String
        let kind: String
        let period_ns: Int
        let ticks: Int
        let missed: Int
        let early: Int
        let lateness_ns: Lateness
    }

    let schema: Int
    let options: Options
    let rows: [Row]
}
