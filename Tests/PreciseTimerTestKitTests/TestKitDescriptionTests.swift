import PreciseTimer
import PreciseTimerTestKit
import Testing

/// Virtual time, faults and the clauses of the alarm contract read well in the messages of tests.
struct TestKitDescriptionTests {
    @Test func virtualTimeReadsAsItsInstantAndTimers() throws {
        let virtual = VirtualTime()
        #expect("\(virtual)" == "virtual time 1000000000 ns (suspending), 0 timers")
        let timer = try PreciseTimer.schedule(.onDemand, on: virtual.service) { _, _ in }
        virtual.advance(by: .milliseconds(500))
        #expect("\(virtual)" == "virtual time 1500000000 ns (suspending), 1 timer")
        timer.cancel()
        #expect("\(VirtualTime(clock: .wall))" == "virtual time 1767225600000000000 ns (wall), 0 timers")
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
