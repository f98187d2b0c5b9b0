internal import Foundation

/// Rules applied to a report.
package struct Judgement: Hashable, Sendable {
    package enum Outcome: Int, Comparable, Sendable {
        case pass
        /// The measurement is too short to tell.
        case undecided
        case fail

        package static func < (first: Outcome, second: Outcome) -> Bool { first.rawValue < second.rawValue }
    }

    /// A rule applied to a row.
    package struct Finding: Hashable, Sendable {
        package let rule: String
        package let key: RowKey
        package let outcome: Outcome
        /// What was measured, and what is missing to a decision.
        package let reason: String

        /// One line for people, which begins with the outcome.
        package var line: String {
            let name =
                switch outcome {
                case .pass: "passed"
                case .undecided: "undecided"
                case .fail: "failed"
                }
            return "\(name): \(rule): \(reason)"
        }
    }

    /// One for each rule and row.
    package let findings: [Finding]

    /// The worst of all findings.
    package var outcome: Outcome { findings.map(\.outcome).max() ?? .pass }

    /// Applies rules.
    ///
    /// - Parameters:
    ///   - rules: each about at least one row of the report.
    ///   - report: the report of the measurement.
    ///   - baseline: the report that rules of a baseline refer to.
    /// - Throws: `Problem` if a rule cannot be applied to this report. Such a rule must not pass for one that holds.
    package init(_ rules: [Rule], of report: Report, baseline: Report?) throws(Problem) {
        var findings: [Finding] = []
        for rule in rules {
            let rows = report.rows.filter { rule.concerns($0.key) }
            guard !rows.isEmpty else { throw Problem("\(rule): nothing was measured for \(rule.row)") }
            for row in rows {
                let (outcome, reason) = try Self.apply(rule, to: row, of: report, baseline)
                findings.append(Finding(rule: rule.description, key: row.key, outcome: outcome, reason: reason))
            }
        }
        self.findings = findings
    }

    private static func apply(
        _ rule: Rule,
        to row: RowReport,
        of report: Report,
        _ baseline: Report?
    ) throws(Problem) -> (Outcome, String) {
        switch rule.condition {
        case .beyond(let figure, let side, let bound):
            guard let value = figure(row) else {
                if figure.unit == .timesFloor {
                    throw Problem("\(rule): without \(row.key.floor) there are no multiples of it")
                }
                return (.undecided, "\(row.key) has no \(figure) in so short a measurement")
            }
            let isBeyond = side == .above ? value > bound : value < bound
            return (isBeyond ? .fail : .pass, "\(row.key).\(figure) is \(figure.text(value))")
        case .later(let percentile, let share, .row(let name)):
            let rival = RowKey(row: name, load: row.key.load, in: report)
            guard let rival else { throw Problem("\(rule): nothing was measured for \(name)") }
            guard let pair = PairReport(row.key, rival, percentile, in: report.results) else {
                return (.undecided, "\(row.key) against \(name): no \(percentile.rawValue) of so few deadlines")
            }
            let (outcome, more) = decide(pair.ratio, percentile, share, of: report.results)
            return (outcome, "\(row.key) against \(name): \(pair.ratio.wordsWithInterval)\(more)")
        case .later(let percentile, let share, .baseline):
            guard let baseline else { throw Problem("\(rule): it needs a --baseline") }
            if let difference = baseline.results.hostDifference(from: report.results) {
                return (.undecided, "the baseline was measured under other conditions: \(difference)")
            }
            let known = [baseline, report].map { Set($0.rows.map(\.key)) }
            guard known.allSatisfy({ $0.isSuperset(of: [row.key, row.key.floor]) }) else {
                throw Problem("\(rule): \(row.key) and \(RowKey.floor) must be in both results")
            }
            guard let ratio = Ratio(of: row.key, percentile, since: baseline.results, in: report.results) else {
                return (.undecided, "\(row.key) against the baseline: no \(percentile.rawValue) of so few deadlines")
            }
            let (outcome, more) = decide(ratio, percentile, share, of: report.results)
            return (outcome, "\(row.key) against the baseline: \(ratio.wordsWithInterval)\(more)")
        }
    }

    /// Holds a ratio against the greatest that a rule allows. The rule fails only if the whole interval is above.
    private static func decide(
        _ ratio: Ratio,
        _ percentile: PairReport.Percentile,
        _ share: Double,
        of results: Results
    ) -> (Outcome, String) {
        guard let interval = ratio.interval else {
            let parts = percentile == .p50 ? "laps" : "rounds of \(Round.fewestDeadlines) deadlines"
            return (.undecided, "; \(Ratio.fewestPairs) \(parts) are the fewest")
        }
        if interval.lowerBound > 1 + share { return (.fail, "") }
        if interval.upperBound <= 1 + share { return (.pass, "") }
        return (.undecided, "; \(results.missingTime(for: ratio, against: 1 + share))")
    }

    /// Checks before a measurement that rules can be applied to it.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - keys: the rows that will be measured.
    ///   - baseline: the report that rules of a baseline refer to.
    /// - Throws: `Problem` for the first rule that cannot be applied.
    package static func check(_ rules: [Rule], for keys: [RowKey], baseline: Report?) throws(Problem) {
        for rule in rules {
            let concerned = keys.filter { rule.concerns($0) }
            let names = keys.map(\.description).joined(separator: ", ")
            guard !concerned.isEmpty else {
                throw Problem("\(rule): no measured row is named \(rule.row); there will be \(names)")
            }
            switch rule.condition {
            case .beyond(let figure, _, _):
                if figure.unit == .timesFloor, concerned.contains(where: { !keys.contains($0.floor) }) {
                    throw Problem("\(rule): without \(RowKey.floor) there are no multiples of it")
                }
            case .later(_, _, .row(let name)):
                guard keys.contains(where: { $0.row == name }) else {
                    throw Problem("\(rule): no measured row is named \(name); there will be \(names)")
                }
                guard !concerned.contains(where: { $0.row == name }) else {
                    throw Problem("\(rule): a row cannot be later than itself")
                }
            case .later(_, _, .baseline):
                guard let baseline else { throw Problem("\(rule): it needs a --baseline") }
                for key in concerned {
                    guard key != key.floor else {
                        throw Problem("\(rule): runs are compared by multiples of \(RowKey.floor), which is always 1")
                    }
                    guard keys.contains(key.floor) else {
                        throw Problem("\(rule): without \(RowKey.floor) two runs cannot be compared")
                    }
                    let known = baseline.rows.map(\.key)
                    for missing in [key, key.floor] where !known.contains(missing) {
                        throw Problem("\(rule): the baseline has no \(missing)")
                    }
                }
            }
        }
    }
}

extension RowKey {
    /// A measured row by its name and load; nil if there is none.
    fileprivate init?(row: String, load: String, in report: Report) {
        guard let key = report.rows.map(\.key).first(where: { $0.row == row && $0.load == load }) else { return nil }
        self = key
    }
}

extension Results {
    /// How much longer a measurement must be, about, until an interval lies on one side of a bound. An interval
    /// shrinks with the square root of the number of laps, except for its fixed part.
    fileprivate func missingTime(for ratio: Ratio, against bound: Double) -> String {
        let seconds = origins.reduce(0) { $0 + $1.seconds }
        let measured = seconds > 0 ? seconds : rounds.lazy.flatMap(\.cells).reduce(0) { $0 + Double($1.elapsed) } / 1e9
        let (reach, fixed) = (log(1 + (ratio.reach ?? 0)), ratio.fixedReach)
        let distance = abs(log(ratio.estimate / bound))
        guard distance > fixed else {
            return fixed > 0 ? "two runs differ too much to tell: compare both builds in one run" : Self.tooLong
        }
        let factor = (reach * reach - fixed * fixed) / (distance * distance - fixed * fixed)
        let missing = measured * (factor - 1)
        guard missing.isFinite, missing < 3600 else { return Self.tooLong }
        return "needs about \(Int(max(missing, 1).rounded(.up))) s more"
    }

    private static let tooLong = "to tell would take more than an hour"
}
