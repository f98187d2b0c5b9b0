import PreciseTimer
import PreciseTimerTestKit
import Testing

/// Every alarm of ours keeps the contract; an alarm that breaks a clause is found out by that clause's check.
@Suite(.serialized, .timeLimit(.minutes(2))) struct AlarmConformanceTests {
    typealias Clause = AlarmConformance.Clause
    typealias Backend = TimerService.Backend

    @Test(arguments: Backend.allCases.filter { $0.availability == .available }, Clause.allCases)
    func realAlarmsKeepTheContract(backend: Backend, clause: Clause) {
        let conformance = AlarmConformance { try backend.makeAlarm() }
        #expect(conformance.violations(of: clause) == [])
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
    func anAlarmThatBreaksAClauseIsFoundOut(clause: Clause) {
        let conformance = AlarmConformance(patience: .milliseconds(500)) {
            BrokenAlarm(breaking: clause, over: try Backend.timerFD.makeAlarm())
        }
        let violations = conformance.violations(of: clause)
        #expect(violations.isEmpty == false)
        #expect(violations.contains { $0.hasPrefix("the alarm refused") } == false)
    }

    @Test func theBrokenAlarmBreaksOneClauseOnly() {
        let conformance = AlarmConformance { BrokenAlarm(breaking: nil, over: try Backend.timerFD.makeAlarm()) }
        for clause in Clause.allCases {
            let violations = conformance.violations(of: clause)
            #expect(violations == [])
        }
    }

    @Test func anAlarmThatRefusesIsReported() {
        let conformance = AlarmConformance { throw Refusal() }
        #expect(conformance.violations(of: .holdsOneDeadline) == ["the alarm refused: no"])
    }

    private struct Refusal: Error, CustomStringConvertible {
        let description = "no"
    }
}
