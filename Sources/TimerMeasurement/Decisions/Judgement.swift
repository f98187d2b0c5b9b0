/// Rules applied to a report.
package struct Judgement: Hashable, Sendable {
    /// One line for each rule and case where it failed.
    package let failures: [String]

    /// Applies rules.
    ///
    /// - Parameters:
    ///   - rules: each about at least one case of the report.
    ///   - report: what was measured.
    ///   - baseline: what multiples are of; nil where no rule has one.
    /// - Throws: `Rule.Problem` where a rule says nothing of this report, which must not pass for a rule that holds.
    package init(_ rules: [Rule], of report: Report, baseline: Report?) throws(Rule.Problem) {
        var failures: [String] = []
        for rule in rules {
            let rows = report.rows.filter { rule.concerns($0.case) }
            guard !rows.isEmpty else {
                throw Rule.Problem(description: "\(rule): nothing was measured for \(rule.subject)")
            }
            for row in rows {
                if let failure = try Self.failure(of: rule, row, baseline) { failures.append(failure) }
            }
        }
        self.failures = failures
    }

    private static func failure(of rule: Rule, _ row: RowReport, _ baseline: Report?) throws(Rule.Problem) -> String? {
        guard let value = rule.figure(row) else {
            throw Rule.Problem(description: "\(rule): \(row.case) has no \(rule.figure) in these results")
        }
        let text = "\(row.case).\(rule.figure) is \(rule.figure.text(value))"
        switch rule.bound {
        case .value(let bound):
            return rule.fails(value, bound) ? "\(rule): \(text)" : nil
        case .timesBaseline(let factor):
            guard let old = baseline?.rows.first(where: { $0.case == row.case }).flatMap({ rule.figure($0) }) else {
                throw Rule.Problem(description: "\(rule): the baseline has no \(row.case).\(rule.figure)")
            }
            guard rule.fails(value, factor * old) else { return nil }
            let ratio = NumberText.fixed(value / old, places: 2)
            return "\(rule): \(text), \(ratio)x of the baseline's \(rule.figure.text(old))"
        }
    }

    /// Checks, before anything is measured, that rules can be applied.
    ///
    /// - Parameters:
    ///   - rules: what is going to be applied.
    ///   - cases: what is going to be measured.
    ///   - baseline: what multiples are of.
    /// - Throws: `Rule.Problem` with one line for the first that cannot.
    package static func check(_ rules: [Rule], for cases: [Case], baseline: Report?) throws(Rule.Problem) {
        for rule in rules {
            let concerned = cases.filter { rule.concerns($0) }
            guard !concerned.isEmpty else {
                let names = cases.map(\.description).joined(separator: ", ")
                throw Rule.Problem(
                    description: "\(rule): nothing measured is named \(rule.subject); there will be \(names)"
                )
            }
            if rule.figure.unit == .timesFloor {
                for `case` in concerned
                where !cases.contains(where: { $0.row == Results.floor && $0.load == `case`.load }) {
                    throw Rule.Problem(description: "\(rule): without \(Results.floor) there are no multiples of it")
                }
            }
            guard case .timesBaseline = rule.bound else { continue }
            guard let baseline else {
                throw Rule.Problem(description: "\(rule): a multiple needs a --baseline")
            }
            for `case` in concerned {
                guard let row = baseline.rows.first(where: { $0.case == `case` }) else {
                    throw Rule.Problem(description: "\(rule): the baseline has no \(`case`)")
                }
                guard rule.figure(row) != nil else {
                    throw Rule.Problem(description: "\(rule): the baseline has no \(`case`).\(rule.figure)")
                }
            }
        }
    }
}

extension Rule {
    fileprivate func fails(_ value: Double, _ bound: Double) -> Bool {
        switch side {
        case .above: value > bound
        case .below: value < bound
        }
    }
}
