import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Virtual time, faults and the clauses of the alarm contract read well in the messages of tests.
@Suite(.waits("a value that cannot be reflected ends a process")) struct TestKitDescriptionTests {
    @Test func virtualTimeReadsAsItsTimersAndTheirDeadlinesOnOneLine() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let service = virtual.service
        var texts = ["\(virtual)"]
        let timer = try PreciseTimer.schedule(.onDemand, on: service, label: "i\ndle") { _, _ in }
        virtual.advance(by: .milliseconds(500))
        texts.append("\(virtual)")
        let far = PreciseTimer.Schedule.once(after: .seconds(9))
        try PreciseTimer.schedule(far, on: service, file: "A/B.swift", line: 7, target: log) { $0.note($1) }
        try timer.reschedule(.once(after: .milliseconds(250)))
        texts.append("\(virtual)")
        timer.pause(keeping: .grid)
        texts.append("\(virtual)")
        #expect(
            texts == [
                "virtual time 0 s, 0 timers", #"virtual time 500 ms, 1 timer: "i\ndle" at rest"#,
                #"virtual time 500 ms, 2 timers: "i\ndle" due at 750 ms, A/B.swift:7 due at 9.5 s"#,
                #"virtual time 500 ms, 2 timers: "i\ndle" paused, A/B.swift:7 due at 9.5 s"#,
            ]
        )
        for number in 1...10 {
            try PreciseTimer.schedule(.every(.seconds(1)), on: service, label: "\(number)", target: log) { $0.note($1) }
        }
        #expect("\(virtual)".hasSuffix(", 2 more"))
    }

    @Test func aLogTellsItsFirstTenDeadlinesSinceTheStartOfVirtualTime() throws {
        let virtual = VirtualTime(clock: .wall)
        let log = TickLog(virtual)
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        let texts = [0, 1, 11]
            .map { seconds in
                virtual.advance(by: .seconds(seconds))
                return "\(log)"
            }
        let ten = (1...10).map { "\($0) s" }.joined(separator: ", ")
        #expect(texts == ["0 ticks", "1 tick, due at 1 s", "12 ticks, due at \(ten), 2 more"])
    }

    /// `dump`, a debugger and a failed expectation read all parts of a value, some of which cannot be copied. Objects
    /// show their description alone.
    @Test func everyPublicTypeCanBeReflectedAndIsDumpedAsItsDescription() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                for (value, text) in values() + (try objects()) { #expect("\(value)" == text) }
                for (object, text) in try objects() {
                    let dump = reflect(object).split(separator: "\n")
                    #expect(dump.count == 1 && dump[0].hasPrefix("- \(text)"), "\(dump)")
                }
                reflectAll(try objects().map(\.0) + values().map(\.0))
            }
        )
        #expect(lines(result.standardOutputContent).last == "done")
        let types = try (objects().map(\.0) + values().map(\.0)).map(typeName)
        #expect(try Set(types) == publicTypes(of: "PreciseTimerTestKit"))
    }
}

/// Values without objects, with their texts.
private func values() -> [(Any, String)] {
    let faults: [(VirtualTime.Fault, String)] = [
        (.wakeLate(by: .milliseconds(3)), "wake 3 ms late"), (.wakeEarly(by: .microseconds(40)), "wake 40 µs early"),
        (.stall(.seconds(2)), "stall for 2 s"), (.stepClock(by: .seconds(-3600)), "step the clock by -3600 s"),
        (.suspend(.seconds(60)), "suspend for 60 s"),
    ]
    let clauses = [
        "1: holds one deadline", "2: fires for past deadlines", "3: never fires inside set",
        "4: never fires twice at once", "5: stop is final", "6: goes on if it says so",
    ]
    return faults.map { ($0, $1) } + zip(AlarmConformance.Clause.allCases, clauses).map { ($0, $1) }
}

/// One value of each type that holds objects, with its text.
private func objects() throws -> [(Any, String)] {
    let virtual = VirtualTime()
    let log = TickLog(virtual)
    try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "clock", target: log) { $0.note($1) }
    virtual.advance(by: .seconds(2))
    let conformance = AlarmConformance(patience: .milliseconds(200)) { throw TimerError(.unavailable, "opening") }
    return [
        (virtual, #"virtual time 2 s, 1 timer: "clock" due at 3 s"#), (log, "2 ticks, due at 1 s, 2 s"),
        (conformance, "alarm conformance, patience 200 ms"),
    ]
}
