import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Virtual time, faults and the clauses of the alarm contract read well in the messages of tests.
struct TestKitDescriptionTests {
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
        #expect("\(VirtualTime(clock: .wall))" == "virtual time 0 s, 0 timers")
    }

    @Test func aLogTellsItsFirstTenDeadlinesSinceTheStartOfVirtualTime() throws {
        let virtual = VirtualTime(clock: .wall)
        let log = TickLog(virtual)
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        var texts = ["\(log)"]
        virtual.advance(by: .seconds(1))
        texts.append("\(log)")
        virtual.jump(by: .seconds(3))
        #expect(log.deadlines == [.seconds(1), .seconds(2)])
        #expect(log.missed == [0, 2])
        #expect(log.ticks.map(\.lateness) == [.zero, .seconds(2)])
        virtual.advance(by: .seconds(10))
        texts.append("\(log)")
        let ten = ([1, 2] + (5...12)).map { "\($0) s" }.joined(separator: ", ")
        #expect(texts == ["0 ticks", "1 tick, due at 1 s", "12 ticks, due at \(ten), 2 more"])
    }

    @Test func faultsClausesAndAConformanceReadAsWhatTheyMean() {
        let faults: [VirtualTime.Fault] = [
            .wakeLate(by: .milliseconds(3)), .wakeEarly(by: .microseconds(40)), .stall(.seconds(2)),
            .stepClock(by: .seconds(-3600)), .suspend(.seconds(60)),
        ]
        let conformance = AlarmConformance(patience: .milliseconds(200)) { throw TimerError(.unavailable, "opening") }
        #expect(
            faults.map { "\($0)" } + AlarmConformance.Clause.allCases.map { "\($0)" } + ["\(conformance)"] == [
                "wake 3 ms late", "wake 40 µs early", "stall for 2 s", "step the clock by -3600 s", "suspend for 60 s",
                "1: holds one deadline", "2: fires for past deadlines", "3: never fires inside set",
                "4: never fires twice at once", "5: stop is final", "6: goes on if it says so",
                "alarm conformance, patience 200 ms",
            ]
        )
    }
}

/// `dump`, a debugger and a failed expectation read all parts of a value. Each of these tests has a process of its own,
/// which a part that cannot be copied would end.
@Suite(.waits("each test has a process of its own")) struct KitReflectionTests {
    @Test func everyPublicTypeCanBeReflected() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                reflectAll(try specimens() + values)
            }
        )
        #expect(lines(result.standardOutputContent).last == "done")
    }

    @Test func theReflectedTypesAreAllPublicTypes() throws {
        #expect(try Set((specimens() + values).map(typeName)) == publicTypes(of: "PreciseTimerTestKit"))
    }

    @Test func anObjectIsDumpedAsItsDescription() async {
        await #expect(processExitsWith: .success) {
            for object in try specimens() {
                let dump = reflect(object)
                #expect(dump.hasPrefix("- \(object)") && dump.split(separator: "\n").count == 1)
            }
        }
    }
}

/// One value of each of the other types.
private let values: [any Sendable] = [AlarmConformance.Clause.stopIsFinal, VirtualTime.Fault.stall(.zero)]

/// One value of each type that holds objects.
private func specimens() throws -> [Any] {
    let virtual = VirtualTime()
    let log = TickLog(virtual)
    try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "clock", target: log) { $0.note($1) }
    virtual.advance(by: .seconds(2))
    return [virtual, log, AlarmConformance(patience: .milliseconds(200)) { throw TimerError(.unavailable, "opening") }]
}
