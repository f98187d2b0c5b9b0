import ResultsSupport
import Testing
import TimerReport
import TimerResults

@Suite struct JUnitTests {
    private let report = Synthetic.comparison(rounds: 8)

    private func file(_ rules: String...) throws -> String {
        JUnitFile(try Judgement(rules.map { try Rule.parse($0) }, of: report, baseline: nil).findings).description
    }

    @Test func aRuleIsATestCase() throws {
        let text = try file(
            "timerfd.lateness.p50 > 1s",
            "timerfd.lateness.p50 > 1ns",
            "libevent.p50 later 1% than timerfd"
        )
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines[0] == #"<?xml version="1.0" encoding="UTF-8"?>"#)
        #expect(lines[1] == #"<testsuite name="compare-backends" tests="3" failures="1" errors="0" skipped="1">"#)
        #expect(lines[2].contains("<system-out>timerfd.lateness.p50 is "))
        #expect(lines[3].contains(#"<failure message="timerfd.lateness.p50 is "#))
        #expect(lines[4].contains(#"<skipped message="libevent against timerfd: "#))
        #expect(lines[5] == "</testsuite>")
    }

    @Test func aFailedMeasurementIsAnError() {
        let text = JUnitFile([], errors: ["stopped by Ctrl-C: partial results"]).description
        #expect(text.contains(#"tests="1" failures="0" errors="1" skipped="0""#))
        #expect(text.contains(#"<error message="stopped by Ctrl-C: partial results"/>"#))
    }

    @Test func namesAreEscaped() throws {
        let text = try file("timerfd.lateness.p50 > 1s")
        #expect(text.contains(#"name="timerfd.lateness.p50 &gt; 1s" classname="timerfd""#))
    }
}
