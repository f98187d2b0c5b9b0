/// Rules applied to a report.
package struct Judgement: Hashable, Sendable {
    /// One line for each broken rule and row.
    package let failures: [String]

    /// Applies rules.
    ///
    /// - Parameters:
    ///   - rules: each about at least one row of the report.
    ///   - report: the report of the measurement.
    ///   - baseline: the report that multiples refer to; nil if no rule has a multiple.
    /// - Throws: `Problem` if a rule cannot be applied to this report. Such a rule must not pass for one that holds.
    package init(_ rules: [Rule], of report: Report, baseline: Report?) throws(Problem) {
        var failures: [String] = []
        for rule in rules {
            let rows = report.rows.filter { rule.concerns($0.key) }
            guard !rows.isEmpty else { throw Problem("\(rule): nothing was measured for \(rule.row)") }
            for row in rows {
                if let failure = try Self.failure(of: rule, row, baseline) { failures.append(failure) }
            }
        }
        self.failures = failures
    }

    private static func failure(of rule: Rule, _ row: RowReport, _ baseline: Report?) throws(Problem) -> String? {
        guard let value = rule.figure(row) else {
            throw Problem("\(rule): \(row.key) has no \(rule.figure) in these results")
        }
        let text = "\(row.key).\(rule.figure) is \(rule.figure.text(value))"
        switch rule.bound {
        case .value(let bound):
            return rule.fails(value, bound) ? "\(rule): \(text)" : nil
        case .timesBaseline(let factor):
            guard let old = baseline?.rows.first(where: { $0.key == row.key }).flatMap({ rule.figure($0) }) else {
                throw Problem("\(rule): the baseline has no \(row.key).\(rule.figure)")
            }
            guard rule.fails(value, factor * old) else { return nil }
            let ratio = NumberText.fixed(value / old, places: 2)
            return "\(rule): \(text), \(ratio)x of the baseline's \(rule.figure.text(old))"
        }
    }

    /// Checks before a measurement that rules can be applied to it.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - keys: the rows that will be measured.
    ///   - baseline: the report that multiples refer to.
    /// - Throws: `Problem` for the first rule that cannot be applied.
    package static func check(_ rules: [Rule], for keys: [RowKey], baseline: Report?) throws(Problem) {
        for rule in rules {
            let concerned = keys.filter { rule.concerns($0) }
            guard !concerned.isEmpty else {
                let names = keys.map(\.description).joined(separator: ", ")
                throw Problem("\(rule): no measured row is named \(rule.row); there will be \(names)")
            }
            if rule.figure.unit == .timesFloor, concerned.contains(where: { !keys.contains($0.floor) }) {
                throw Problem("\(rule): without \(RowKey.floor) there are no multiples of it")
            }
            guard case .timesBaseline = rule.bound else { continue }
            guard let baseline else { throw Problem("\(rule): a multiple needs a --baseline") }
            for key in concerned {
                guard let row = baseline.rows.first(where: { $0.key == key }) else {
                    throw Problem("\(rule): the baseline has no \(key)")
                }
                guard rule.figure(row) != nil else {
                    throw Problem("\(rule): the baseline has no \(key).\(rule.figure)")
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
