internal import TimerCore

/// What must not be: a figure of a row beyond a bound. Written as `timerfd.lateness.p99 > 200us`, or with a multiple of
/// a former result's, `timerfd@cpu:2.lateness.p50 > 1.2x`.
package struct Rule: Hashable, Sendable, CustomStringConvertible {
    /// Why a text is no rule, or a rule cannot be applied.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        /// One line for whoever wrote it.
        package let description: String
    }

    /// On which side of the bound the rule fails.
    package enum Side: Character, Sendable {
        case above = ">"
        case below = "<"
    }

    /// What a figure is held against.
    package enum Bound: Hashable, Sendable {
        /// A value in the figure's unit.
        case value(Double)
        /// A multiple of the same figure in the baseline.
        case timesBaseline(Double)
    }

    /// As it was written.
    package let description: String
    /// The row that it is about, under one load where it names one, as `timerfd` or `timerfd@cpu:2`.
    package let subject: String
    package let figure: Figure
    package let side: Side
    package let bound: Bound

    /// Reads a rule.
    package static func parse(_ text: String) throws(Problem) -> Rule {
        guard let sign = text.lastIndex(where: { $0 == ">" || $0 == "<" }), let side = Side(rawValue: text[sign])
        else {
            throw Problem(description: "write <row>.<figure> > <bound>, as in timerfd.lateness.p99 > 200us")
        }
        let left = text[..<sign].filter { !$0.isWhitespace }
        let right = text[text.index(after: sign)...].filter { !$0.isWhitespace }
        guard let figure = Figure.all.first(where: { left.hasSuffix(".\($0.name)") }) else {
            throw Problem(description: problem(of: left))
        }
        let subject = String(left.dropLast(figure.name.count + 1))
        guard !subject.isEmpty else {
            throw Problem(description: "a rule begins with a row, as in timerfd.\(figure.name)")
        }
        return Rule(
            description: text,
            subject: subject,
            figure: figure,
            side: side,
            bound: try bound(right, of: figure)
        )
    }

    /// What is wrong with a figure that there is none of.
    private static func problem(of left: String) -> String {
        if left.hasSuffix(".max") || left.hasSuffix(".min") {
            return
                "no rule can be about a greatest or least value: one stall of the host makes it, and says nothing of "
                + "the timers; take p99 or p99.9"
        }
        return "the figures are " + Figure.all.map(\.name).joined(separator: ", ")
    }

    private static func bound(_ text: String, of figure: Figure) throws(Problem) -> Bound {
        if let factor = number(text, unit: "x") {
            guard figure.canBeRelative else {
                throw Problem(
                    description: "\(figure.name) may well be zero, of which there is no multiple: give a bound"
                )
            }
            return .timesBaseline(factor)
        }
        let value: Double? =
            switch figure.unit {
            case .nanoseconds: (try? DurationText.parse(text)).map { Double($0.nanosecondsRoundedUp) }
            case .partsPerMillion: number(text, unit: "ppm")
            case .percent: number(text, unit: "%")
            case .perTick, .timesFloor: number(text, unit: "")
            }
        guard let value else {
            let example =
                switch figure.unit {
                case .nanoseconds: "200us"
                case .partsPerMillion: "50ppm"
                case .percent: "5%"
                case .perTick, .timesFloor: "1.5"
                }
            let relative = figure.canBeRelative ? ", or a multiple of the baseline's, as in 1.2x" : ""
            throw Problem(description: "the bound of \(figure.name) is written as in \(example)\(relative)")
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

    /// Whether it is about a case: one that names no load is about its row under every load.
    package func concerns(_ case: Case) -> Bool { subject == `case`.description || subject == `case`.row }
}
