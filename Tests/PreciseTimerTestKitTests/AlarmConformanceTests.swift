import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Every alarm of the package keeps the contract; an alarm that breaks a clause fails that clause's check.
@Suite(.waits("every alarm fires by its own clock"), .timeLimit(.minutes(60))) struct AlarmConformanceTests {
    typealias Clause = AlarmConformance.Clause
    typealias Backend = TimerService.Backend

    @Test(arguments: Mechanism.all, Clause.allCases)
    func realAlarmsKeepTheContract(mechanism: Mechanism, clause: Clause) {
        let conformance = AlarmConformance { try mechanism.makeAlarm() }
        #expect(conformance.violations(of: clause) == [])
    }

    /// A stop may come at any moment, even just before a thread or loop begins to wait.
    @Test(arguments: Mechanism.all)
    func realAlarmsStoppedAtOnceAreReleased(mechanism: Mechanism) throws {
        let leaks = try (0..<500)
            .filter { round in
                var alarm: (any TimerAlarm)? = try mechanism.makeAlarm()
                weak let gone = alarm
                try alarm?.start(onFire: {}, onFailure: { _ in })
                if round % 2 == 0 { try alarm?.set(mechanism.clock.now) }
                alarm?.stop()
                alarm = nil
                return !eventually { gone == nil }
            }
        if mechanism.description.hasPrefix("runloop") {
            withKnownIssue("see RunLoopAlarm.stop()", isIntermittent: true) {
                #expect(leaks.isEmpty, "the numbers of the rounds")
            }
        } else {
            #expect(leaks.isEmpty, "the numbers of the rounds")
        }
    }

    @Test(arguments: Mechanism.all)
    func realAlarmsReadTheRequestedClock(mechanism: Mechanism) throws {
        let alarm = try mechanism.makeAlarm()
        let (before, now, after) = (mechanism.clock.now, alarm.now, mechanism.clock.now)
        #expect(now.clock == mechanism.clock)
        // The wall clock may be slewed or stepped during the test, but not by hours.
        #expect(before.advanced(by: .seconds(-60)) <= now)
        #expect(now <= after.advanced(by: .seconds(60)))
    }

    @Test(arguments: Clause.allCases)
    func theVirtualAlarmKeepsTheContract(clause: Clause) {
        let conformance = AlarmConformance(
            elapse: { alarm, duration in (alarm as? VirtualAlarm)?.advance(by: duration) },
            makeAlarm: { VirtualAlarm() }
        )
        #expect(conformance.violations(of: clause) == [])
    }

    @Test(arguments: Clause.allCases)
    func anAlarmThatBreaksAClauseFailsItsCheck(clause: Clause) throws {
        let conformance = AlarmConformance(patience: .milliseconds(500)) {
            BrokenAlarm(breaking: clause, over: try Backend.usual.makeAlarm())
        }
        // Firings merge if the thread of an alarm stands still, and then cannot overlap.
        let violations = (0..<5).lazy.map { _ in conformance.violations(of: clause) }.first { !$0.isEmpty } ?? []
        #expect(violations.isEmpty == false)
        #expect(violations.contains { $0.hasPrefix("the alarm refused") } == false)
    }

    @Test func withoutABrokenClauseTheTestAlarmKeepsTheContract() {
        let conformance = AlarmConformance { BrokenAlarm(breaking: nil, over: try Backend.usual.makeAlarm()) }
        for clause in Clause.allCases {
            let violations = conformance.violations(of: clause)
            #expect(violations == [])
        }
    }

    @Test(arguments: BrokenRepetition.Flaw.allCases)
    func eachFlawOfARepetitionIsReported(flaw: BrokenRepetition.Flaw) {
        let conformance = AlarmConformance(
            patience: .milliseconds(500),
            elapse: { alarm, duration in (alarm as? BrokenRepetition)?.advance(by: duration) },
            makeAlarm: { BrokenRepetition(flaw) }
        )
        let violations = conformance.violations(of: .goesOnIfItSaysSo)
        #expect(violations.first == flaw.rawValue)
    }

    @Test func anAlarmThatCannotBeMadeIsReported() {
        let conformance = AlarmConformance { throw Refusal() }
        #expect(conformance.violations(of: .holdsOneDeadline) == ["the alarm refused: no"])
    }

    private struct Refusal: Error, CustomStringConvertible {
        let description = "no"
    }
}
