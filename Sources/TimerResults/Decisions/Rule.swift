/// A bound that a figure of a row must keep: `timerfd.lateness.p99 > 200us` fails beyond a value, and
/// `timerfd@cpu:2.lateness.p50 > 1.2x` beyond a multiple of the baseline.
package struct Rule: Hashable, Sendable, CustomStringConvertible {
    /// The side of the bound on which the rule fails.
    package enum Side: Character, Sendable {
        case above = ">"
        case below = "<"
    }

    package enum Bound: Hashable, Sendable {
        /// A value in the figure's unit.
        case value(Double)
        /// A multiple of the same figure in the baseline.
        case timesBaseline(Double)
    }

    /// The text of the rule.
    package let description: String
    /// The row, as `timerfd`, or the row under one load, as `timerfd@cpu:2`.
    package let row: String
    package let figure: Figure
    package let side: Side
    package let bound: Bound

    /// Reads a rule.
    package static func parse(_ text: String) throws(Problem) -> Rule {
        guard let sign = text.lastIndex(where: { $0 == ">" || $0 == "<" }), let side = Side(rawValue: text[sign])
        else {
            throw Problem("write <row>.<figure> > <bound>, as in timerfd.lateness.p99 > 200us")
        }
        let left = text[..<sign].filter { !$0.isWhitespace }
        let right = text[text.index(after: sign)...].filter { !$0.isWhitespace }
        guard let figure = Figure.ofRules.first(where: { left.hasSuffix(".\($0.name)") }) else {
            throw Self.unknownFigure(left)
        }
        let row = String(left.dropLast(figure.name.count + 1))
        guard !row.isEmpty else { throw Problem("a rule begins with a row, as in timerfd.\(figure.name)") }
        return Rule(description: text, row: row, figure: figure, side: side, bound: try bound(right, of: figure))
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

    private static func bound(_ text: String, of figure: Figure) throws(Problem) -> Bound {
        if let factor = number(text, unit: "x") {
            guard figure.bounds == .valueOrMultiple else {
                throw Problem("\(figure.name) is often zero, and zero has no multiples: give a bound")
            }
            return .timesBaseline(factor)
        }
        let (value, example): (Double?, String) =
            switch figure.unit {
            case .nanoseconds: ((try? DurationText.parse(text)).map { Double($0.wholeNanoseconds) }, "200us")
            case .partsPerMillion: (number(text, unit: "ppm"), "50ppm")
            case .percent: (number(text, unit: "%"), "5%")
            case .count, .perTick, .timesFloor: (number(text, unit: ""), "1.5")
            }
        guard let value else {
            let multiple =
                figure.bounds == .valueOrMultiple ? ", or a multiple of the baseline's, as in 1.2x" : ""
            throw Problem("the bound of \(figure.name) is written as in \(example)\(multiple)")
        }
        return .value(value)
    }

    /// A number of plain digits with a unit behind it.
    private static func number(_ text: String, unit: String) -> Double? {
        guard text.hasSuffix(unit), text.first?.isNumber == true,
            text.dropLast(unit.count).allSatisfy({ $0 == "." || ($0.isASCII && $0.isNumber) }),
            let number = Double(text.dropLast(unit.count)), number.isFinite
        else { return nil }
        return number
    }

    /// Whether the rule is about a row. A rule without a load is about the row under every load.
    package func concerns(_ key: RowKey) -> Bool { row == key.description || row == key.row }
}
