/// A rule that results must keep: a figure within a bound, or one row not later than another.
///
/// - `timerfd.lateness.p99 > 200us` fails beyond a value.
/// - `timerfd.p50 later 5% than dispatch` fails if timerfd is later than dispatch by more than that.
/// - `timerfd@cpu:2.p95 later 20% than baseline` fails if timerfd has become later since the baseline.
package struct Rule: Hashable, Sendable, CustomStringConvertible {
    /// The side of a bound on which the rule fails.
    package enum Side: Character, Sendable {
        case above = ">"
        case below = "<"
    }

    /// What a row is compared with.
    package enum Rival: Hashable, Sendable {
        /// Another row, under the same load, in the same laps.
        case row(String)
        /// The same row in the baseline. Both are multiples of the floor in their own run.
        case baseline
    }

    /// When the rule fails.
    package enum Condition: Hashable, Sendable {
        /// If a figure lies beyond a value in the figure's unit.
        case beyond(Figure, Side, Double)
        /// If the row is later than a rival by more than a share, as 0.05.
        case later(PairReport.Percentile, Double, than: Rival)
    }

    /// The text of the rule.
    package let description: String
    /// The row, as `timerfd`, or the row under one load, as `timerfd@cpu:2`.
    package let row: String
    package let condition: Condition

    /// Whether the rule is about a row. A rule without a load is about the row under every load.
    package func concerns(_ key: RowKey) -> Bool { row == key.description || row == key.row }
}

extension Rule {
    /// A rule that fails if a row is later than a rival by more than a share, as 0.05.
    package static func later(
        _ row: String,
        _ percentile: PairReport.Percentile,
        by share: Double,
        than rival: Rival
    ) -> Rule {
        let name = if case .row(let name) = rival { name } else { "baseline" }
        let percent = NumberText.fixed(100 * share, places: 100 * share == (100 * share).rounded() ? 0 : 2)
        return Rule(
            description: "\(row).\(percentile.rawValue) later \(percent)% than \(name)",
            row: row,
            condition: .later(percentile, share, than: rival)
        )
    }
}

/// Reading rules.
extension Rule {
    private static let forms =
        "write '<row>.<figure> > <bound>', as in 'timerfd.lateness.p99 > 200us', or "
        + "'<row>.p50 later <percent> than <row>', as in 'timerfd.p50 later 5% than dispatch'"

    package static func parse(_ text: String) throws(Problem) -> Rule {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        if words.contains("later") || words.contains("than") { return try comparison(words) }
        guard let sign = text.lastIndex(where: { $0 == ">" || $0 == "<" }), let side = Side(rawValue: text[sign])
        else { throw Problem(forms) }
        let left = text[..<sign].filter { !$0.isWhitespace }
        let right = text[text.index(after: sign)...].filter { !$0.isWhitespace }
        guard !right.hasPrefix("="), !left.hasSuffix("=") else {
            throw Problem("write > or <: a figure that equals its bound keeps the rule")
        }
        guard let figure = Figure.ofRules.first(where: { left.hasSuffix(".\($0.name)") }) else {
            throw unknownFigure(left)
        }
        let row = String(left.dropLast(figure.name.count + 1))
        guard !row.isEmpty else { throw Problem("a rule begins with a row, as in timerfd.\(figure.name)") }
        return Rule(
            description: words.joined(separator: " "),
            row: row,
            condition: .beyond(figure, side, try bound(right, of: figure))
        )
    }

    /// Reads `timerfd.p50 later 5% than dispatch`.
    private static func comparison(_ words: [String]) throws(Problem) -> Rule {
        guard words.count == 5, words[1] == "later", words[3] == "than" else { throw Problem(forms) }
        guard let point = words[0].lastIndex(of: "."), point > words[0].startIndex,
            let percentile = PairReport.Percentile(rawValue: String(words[0][words[0].index(after: point)...]))
        else {
            let names = PairReport.Percentile.allCases.map(\.rawValue).joined(separator: " and ")
            throw Problem("only \(names) are compared, as in 'timerfd.p50 later 5% than dispatch'")
        }
        guard let percent = number(words[2], unit: "%") else {
            throw Problem("a share is written as in 5%, not \(words[2])")
        }
        return Rule(
            description: words.joined(separator: " "),
            row: String(words[0][..<point]),
            condition: .later(percentile, percent / 100, than: words[4] == "baseline" ? .baseline : .row(words[4]))
        )
    }

    private static func unknownFigure(_ left: String) -> Problem {
        if left.hasSuffix(".max") || left.hasSuffix(".min") {
            return Problem(
                "no rule can be about a greatest or least value: one stall of the host makes it, and says nothing "
                    + "about the timers; take p99 or p99.9"
            )
        }
        return Problem("the figures are " + Figure.ofRules.map(\.name).joined(separator: ", "))
    }

    private static func bound(_ text: String, of figure: Figure) throws(Problem) -> Double {
        if number(text, unit: "x") != nil {
            throw Problem(
                "two runs of one program differ too much for a multiple: "
                    + "write 'timerfd.p50 later 20% than baseline', which compares multiples of the floor"
            )
        }
        let (value, example): (Double?, String) =
            switch figure.unit {
            case .nanoseconds: ((try? DurationText.parse(text)).map { Double($0.wholeNanoseconds) }, "200us")
            case .partsPerMillion: (number(text, unit: "ppm"), "50ppm")
            case .percent: (number(text, unit: "%"), "5%")
            case .count, .perTick, .timesFloor: (number(text, unit: ""), "1.5")
            }
        guard let value else { throw Problem("the bound of \(figure.name) is written as in \(example)") }
        return value
    }

    /// A number of plain digits with a unit behind it.
    private static func number(_ text: String, unit: String) -> Double? {
        guard text.hasSuffix(unit), text.first?.isNumber == true,
            text.dropLast(unit.count).allSatisfy({ $0 == "." || ($0.isASCII && $0.isNumber) }),
            let number = Double(text.dropLast(unit.count)), number.isFinite
        else { return nil }
        return number
    }
}
