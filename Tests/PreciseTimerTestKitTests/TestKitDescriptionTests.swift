import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Virtual time, faults and the clauses of the alarm contract read well in the messages of tests.
struct TestKitDescriptionTests {
    @Test func virtualTimeReadsAsItsTimersAndTheirDeadlines() throws {
        let (virtual, log) = (VirtualTime(), Log())
        #expect("\(virtual)" == "virtual time 0 s, 0 timers")
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service, label: "idle") { _, _ in }
        virtual.advance(by: .milliseconds(500))
        #expect("\(virtual)" == #"virtual time 500 ms, 1 timer: "idle" at rest"#)
        try PreciseTimer.schedule(
            .once(after: .seconds(9)),
            on: virtual.service,
            file: "A/B.swift",
            line: 7,
            target: log
        ) {
            $0.note($1)
        }
        try timer.reschedule(.once(after: .milliseconds(250)))
        #expect("\(virtual)" == #"virtual time 500 ms, 2 timers: "idle" due at 750 ms, A/B.swift:7 due at 9.5 s"#)
        timer.pause(keeping: .grid)
        #expect("\(virtual)".contains(#""idle" paused"#))
        for number in 1...10 {
            try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "\(number)", target: log) {
                $0.note($1)
            }
        }
        #expect("\(virtual)".hasSuffix(", 2 more"))
        #expect("\(VirtualTime(clock: .wall))" == "virtual time 0 s, 0 timers")
    }

    @Test func virtualTimeReadsAsOneLine() throws {
        let virtual = VirtualTime()
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service, label: "a\nb") { _, _ in }
        #expect("\(virtual)" == #"virtual time 0 s, 1 timer: "a\nb" at rest"#)
        timer.cancel()
    }

    @Test func aLogTellsDeadlinesSinceTheStartOfVirtualTime() throws {
        let virtual = VirtualTime(clock: .wall)
        let log = TickLog(virtual)
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(2))
        virtual.jump(by: .seconds(3))
        #expect(log.deadlines == [.seconds(1), .seconds(2), .seconds(3)])
        #expect(log.missed == [0, 0, 2])
        #expect("\(log)" == "3 ticks, due at 1 s, 2 s, 3 s")
        #expect(log.ticks.map(\.lateness) == [.zero, .zero, .seconds(2)])
    }

    @Test func aLogReadsAsItsFirstTenDeadlines() throws {
        let virtual = VirtualTime()
        let log = TickLog(virtual)
        #expect("\(log)" == "0 ticks")
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(1))
        #expect("\(log)" == "1 tick, due at 1 s")
        virtual.advance(by: .seconds(11))
        #expect("\(log)" == "12 ticks, due at \((1...10).map { "\($0) s" }.joined(separator: ", ")), 2 more")
    }

    @Test(arguments: [
        (VirtualTime.Fault.wakeLate(by: .milliseconds(3)), "wake 3 ms late"),
        (.wakeEarly(by: .microseconds(40)), "wake 40 µs early"), (.stall(.seconds(2)), "stall for 2 s"),
        (.stepClock(by: .seconds(-3600)), "step the clock by -3600 s"), (.suspend(.seconds(60)), "suspend for 60 s"),
    ])
    func aFaultReadsAsItsEffect(fault: VirtualTime.Fault, text: String) { #expect("\(fault)" == text) }

    @Test func clausesReadAsTheirNumbersAndWords() {
        #expect(
            AlarmConformance.Clause.allCases.map { "\($0)" } == [
                "1: holds one deadline", "2: fires for past deadlines", "3: never fires inside set",
                "4: never fires twice at once", "5: stop is final", "6: goes on if it says so",
            ]
        )
    }

    @Test func aConformanceReadsAsItsPatience() {
        let conformance = AlarmConformance(patience: .milliseconds(200)) { throw TimerError(.unavailable, "opening") }
        #expect("\(conformance)" == "alarm conformance, patience 200 ms")
    }
}
