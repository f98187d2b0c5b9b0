import PreciseTimer
import Testing

/// When another thread takes the reaper's place.
struct ReaperDutyTests {
    /// What some checks find, one after another.
    private func findings(_ count: Int, _ duty: inout ReaperDuty, before each: (inout ReaperDuty) -> Void = { _ in })
        -> [Bool]
    {
        var findings: [Bool] = []
        for _ in 0..<count {
            each(&duty)
            findings.append(duty.findsStuck())
        }
        return findings
    }

    @Test func aReaperIsStuckIfTwoChecksFindItAtOneService() {
        var duty = ReaperDuty()
        duty.pass(to: 1)
        #expect(findings(3, &duty) == [false, false, false], "it has not begun")
        #expect(findings(3, &duty) { _ = $0.enter(1) } == [false, false, false], "another service each time")
        #expect(findings(3, &duty) == [true, true, true], "until another thread has its place")
        #expect(findings(3, &duty) { _ = $0.leave(1) } == [false, false, false])
    }

    @Test func aReaperThatWasReplacedHasNoDuty() {
        var duty = ReaperDuty()
        duty.pass(to: 1)
        let atFirst = [duty.enter(1), duty.enter(2)]
        #expect(atFirst == [true, false])
        #expect(findings(2, &duty) == [false, true])
        duty.pass(to: 2)
        #expect(findings(2, &duty) == [false, false], "the new one has not begun")
        let ofTheFormer = [duty.enter(1), duty.leave(1)]
        #expect(ofTheFormer == [false, false])
        let ofTheNew = [duty.enter(2), duty.leave(2)]
        #expect(ofTheNew == [true, true])
    }
}
