import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Each argument that may be left out has an effect.
@Suite(.waits("a wrong argument ends a process")) struct KitFormTests {
    /// The random phase of a timer, which the seed determines.
    private func phase(_ service: TimerService) throws -> Duration? {
        let spread = PreciseTimer.Schedule.every(.seconds(60), spread: .seconds(60))
        let timer = try PreciseTimer.schedule(spread, on: service) { _, _ in }
        return timer.nextDeadline.map { service.now.duration(to: $0) }
    }

    @Test func eachArgumentHasItsEffect() async throws {
        let (date, origin) = (Date(timeIntervalSince1970: 1_774_742_400), TimerInstant.origin(on: .continuous))
        let begins = VirtualTime(clock: .wall, seed: 7)
        let otherClock = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = VirtualTime(clock: .wall, at: TimerClock.suspending.now)
        }
        let clockWithoutDates = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = VirtualTime(clock: .suspending, at: Date(timeIntervalSince1970: 0))
        }
        #if DEBUG  // A release build stops without words.
        for result in [otherClock, clockWithoutDates] {
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(text.contains("at an instant of another clock"), "\(text)")
        }
        #endif
        let seeded = try phase(TimerService(unsupervised: VirtualAlarm(), seed: 7))
        #expect(try seeded != phase(VirtualTime().service))
        let stalled = VirtualTime(at: origin)
        stalled.inject(.stall(.seconds(2)), after: .seconds(1))
        stalled.advanceWithoutSettling(by: .milliseconds(500))
        let lengths = Notes<Duration>()
        let patient = AlarmConformance(
            patience: .milliseconds(5),
            elapse: { lengths.append($1) },
            makeAlarm: { RefusingAlarm() }
        )
        #expect("\(patient)" == "alarm conformance, patience 5 ms")
        #expect(patient.violations(of: .firesForPastDeadlines) == ["a deadline of the current instant did not fire"])
        // The form, a part of it, and whether each argument has its effect, by its label.
        let (atInstant, atDate) = (VirtualTime(clock: .continuous, at: origin, seed: 7), VirtualTime(at: date, seed: 7))
        let seeds = try [begins, atInstant, atDate].map { try phase($0.service) == seeded }
        let comesLater = stalled.now == origin.advanced(by: .milliseconds(500))
        let isPatient = lengths.all == Array(repeating: .milliseconds(1), count: 5)
        let rows = [
            ("VirtualTime.init(clock:seed:)", "seed", ["clock": begins.now.clock == .wall, "seed": seeds[0]]),
            ("VirtualTime.init(clock:at:seed:)", "start", ["clock": otherClock != nil, "seed": seeds[1]]),
            ("VirtualTime.init(clock:at:seed:)", "date", ["clock": clockWithoutDates != nil, "seed": seeds[2]]),
            ("VirtualTime.inject(_:after:)", "after", ["after": comesLater]),
            ("AlarmConformance.init(patience:elapse:makeAlarm:)", "patience", ["patience elapse": isPatient]),
        ]
        for row in rows { #expect(row.2.filter { !$0.value }.keys.sorted() == [], "\(row.0) \(row.1)") }
        let forms = rows.map { FormRow($0.0, $0.1, facts: $0.2.mapValues { "\($0)" }) }
        #expect(try flaws(of: forms, in: "PreciseTimerTestKit") == [])
    }

    @Test(arguments: TimerClock.allCases) func timeBeginsAtTheChosenInstantOfAnyClock(clock: TimerClock) {
        let start = TimerInstant(nanoseconds: 1_774_742_400_000_000_000, clock: clock)
        var all = [VirtualTime(at: start), VirtualTime(clock: clock, at: start)]
        if clock == .wall { all.append(VirtualTime(at: Date(timeIntervalSince1970: 1_774_742_400))) }
        for virtual in all {
            #expect([virtual.now, virtual.service.now, virtual.clock.now] == [start, start, start])
        }
    }
}

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
                for (value, text) in values() { #expect("\(value)" == text) }
                for object in objects() {
                    let dump = reflect(object).split(separator: "\n")
                    #expect(dump.count == 1 && dump[0].hasPrefix("- \(object)"), "\(dump)")
                }
                reflectAll(objects() + values().map(\.0))
            }
        )
        #expect(lines(result.standardOutputContent).last == "done")
        let types = (objects() + values().map(\.0)).map(typeName)
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
    let stuck = VirtualTime.Stuck(VirtualTime())
    let waits = "the body waits for something that no timer brings; virtual time 0 s, 0 timers"
    return [(stuck, "\(waits); no job came from outside of virtual time")] + faults.map { ($0, $1) }
        + zip(AlarmConformance.Clause.allCases, clauses).map { ($0, $1) }
}

/// One value of each type that holds objects.
private func objects() -> [Any] {
    let virtual = VirtualTime()
    return [virtual, TickLog(virtual), AlarmConformance { throw RefusingAlarm.refusal }]
}
