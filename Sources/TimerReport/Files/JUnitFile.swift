package import TimerResults

/// The rules and what became of them, as a JUnit file for the test reports of CI systems. A rule is a test case; an
/// undecided rule is a skipped one.
package struct JUnitFile: CustomStringConvertible {
    private let findings: [Judgement.Finding]
    /// Why the measurement itself failed, one line each.
    private let errors: [String]

    package init(_ findings: [Judgement.Finding], errors: [String] = []) {
        self.findings = findings
        self.errors = errors
    }

    /// The whole file, without a line end at its end.
    package var description: String {
        let rules = findings.map { finding in
            let name = "name=\"\(PageText.escaped(finding.rule))\" classname=\"\(PageText.escaped("\(finding.key)"))\""
            let reason = PageText.escaped(finding.reason)
            let result =
                switch finding.outcome {
                case .pass: "<system-out>\(reason)</system-out>"
                case .undecided: "<skipped message=\"\(reason)\"/>"
                case .fail: "<failure message=\"\(reason)\"/>"
                }
            return "  <testcase \(name)>\(result)</testcase>"
        }
        let broken = errors.map { error in
            "  <testcase name=\"the measurement\" classname=\"compare-backends\">"
                + "<error message=\"\(PageText.escaped(error))\"/></testcase>"
        }
        let cases = broken + rules
        let (failures, skipped) = (count(.fail), count(.undecided))
        let counts =
            "tests=\"\(cases.count)\" failures=\"\(failures)\" errors=\"\(errors.count)\" "
            + "skipped=\"\(skipped)\""
        return
            (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuite name=\"compare-backends\" \(counts)>"]
            + cases + ["</testsuite>"])
            .joined(separator: "\n")
    }

    private func count(_ outcome: Judgement.Outcome) -> Int { findings.count { $0.outcome == outcome } }
}
