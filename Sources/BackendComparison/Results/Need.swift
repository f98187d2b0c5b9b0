/// What a user needs of a row: `p99 < 200us, cpu < 2 %` of any backend, `timerfd.p99 < 200us` of one row, or
/// `timerfd.p50 later 5% than dispatch`, which is kept if timerfd is at most 5 % later.
package struct Need: Hashable, Sendable, CustomStringConvertible {
    /// What a row is compared with.
    package enum Rival: Hashable, Sendable {
        /// Another row, under the same load, in the same laps.
        case row(String)
        /// The same row in an earlier result. Both are multiples of the bare loop in their own run.
        case file(String)
    }

    package enum Condition: Hashable, Sendable {
        case below(Figure, Double)
        case above(Figure, Double)
        /// At most so much later, as a share: 0.05 for 5 %.
        case later(Figure, Double, than: Rival)
    }

    /// A condition, and the row that it is about.
    package struct Clause: Hashable, Sendable {
        /// As `timerfd`, or `timerfd@cpu:2` under one load; nil for any backend.
        let row: String?
        package let condition: Condition

        func concerns(_ key: RowKey) -> Bool { row == key.description || row == key.row }
    }

    /// The text, with single spaces.
    package let description: String
    package let clauses: [Clause]

    /// The files that the need compares with.
    package var files: [String] {
        clauses.compactMap { if case .later(_, _, .file(let path)) = $0.condition { path } else { nil } }
    }
}

/// Reading needs.
extension Need {
    private static let forms =
        "write '<figure> < <bound>', as in 'p99 < 200us, cpu < 2%', or '<row>.p50 later <percent> than <row>', as in "
        + "'timerfd.p50 later 5% than dispatch'; quote a file name that has spaces or commas"

    package static func parse(_ text: String) throws(Failure) -> Need {
        let parts = try words(in: text)
        var clauses: [Clause] = []
        for words in parts { clauses.append(try clause(words)) }
        let description = parts.map { $0.joined(separator: " ") }.joined(separator: ", ")
        // It stands in every form of the results.
        guard description.isOneLine else { throw .invalid("a need is a plain line of text") }
        return Need(description: description, clauses: clauses)
    }

    /// Either kind begins and ends the name of a file, which may have the other one in it.
    private static let marks: [Unicode.Scalar] = ["\"", "'"]

    /// The words of each condition: what stands between commas, and between white space. Quotation marks hold both
    /// together, and stay. A space with a combining mark is one character, of which the mark is no space.
    private static func words(in text: String) throws(Failure) -> [[String]] {
        var parts: [[String]] = [[]]
        var (word, mark) = ("", Unicode.Scalar?.none)
        func endWord() {
            // As in "5 %".
            if word == "%", let last = parts[parts.count - 1].popLast() { word = last + word }
            if !word.isEmpty { parts[parts.count - 1].append(word) }
            word = ""
        }
        for scalar in text.unicodeScalars {
            if mark == nil, scalar == "," {
                endWord()
                parts.append([])
            } else if mark == nil, scalar.properties.isWhitespace {
                endWord()
            } else {
                if mark == scalar {
                    mark = nil
                } else if word.isEmpty, marks.contains(scalar) {
                    mark = scalar
                }
                word.unicodeScalars.append(scalar)
            }
        }
        endWord()
        guard mark == nil else { throw .invalid("a quotation mark in the need is not closed") }
        return parts
    }

    /// The name of a file: in quotes, or with the end of such a name, or `-` for the standard input; nil if it is a
    /// row's.
    private static func file(_ word: String) -> String? {
        let scalars = word.unicodeScalars
        if scalars.count > 2, scalars.first == scalars.last, marks.contains(where: { $0 == scalars.first }) {
            return String(scalars.dropFirst().dropLast())
        }
        return word.lowercased().hasSuffix(".json") || word == "-" ? word : nil
    }

    private static func clause(_ words: [String]) throws(Failure) -> Clause {
        if words.contains("later") || words.contains("than") { return try comparison(words) }
        let text = words.joined()
        guard let sign = text.firstIndex(where: { $0 == ">" || $0 == "<" }) else { throw .invalid(forms) }
        let (left, right) = (String(text[..<sign]), String(text[text.index(after: sign)...]))
        guard !right.hasPrefix("=") else { throw .invalid("write < or >: no figure is exactly its bound") }
        let (row, figure) = try subject(left)
        let bound = try bound(right, of: figure)
        return Clause(row: row, condition: text[sign] == "<" ? .below(figure, bound) : .above(figure, bound))
    }

    /// Reads `timerfd.p50 later 5% than dispatch`.
    private static func comparison(_ words: [String]) throws(Failure) -> Clause {
        guard words.count == 5, words[1] == "later", words[3] == "than" else { throw .invalid(forms) }
        let (row, figure) = try subject(words[0])
        let file = file(words[4])
        guard let row, figure == .p50 || (figure == .p99 && file == nil) else {
            throw .invalid(
                file != nil
                    ? "two runs are compared by p50, as in 'timerfd.p50 later 20% than before.json'"
                    : "rows are compared by p50 and p99, as in 'timerfd.p50 later 5% than dispatch'"
            )
        }
        guard let percent = number(words[2], unit: "%") else {
            throw .invalid("write a share as in 5%, not \(words[2])")
        }
        let rival = file.map { Rival.file($0) } ?? .row(words[4])
        return Clause(row: row, condition: .later(figure, percent / 100, than: rival))
    }

    /// The row and the figure in `timerfd.p99`, or only the figure.
    private static func subject(_ text: String) throws(Failure) -> (row: String?, Figure) {
        if let figure = Figure(rawValue: text) { return (nil, figure) }
        for figure in Figure.allCases where text.hasSuffix(".\(figure.rawValue)") {
            let row = String(text.dropLast(figure.rawValue.count + 1))
            if !row.isEmpty { return (row, figure) }
        }
        if text.hasSuffix("max") || text.hasSuffix("worst") {
            throw .invalid("a need cannot be about the worst lateness, which one stall decides: take p99 or p99.9")
        }
        throw .invalid("the figures are \(Figure.allCases.map(\.rawValue).joined(separator: ", "))")
    }

    private static func bound(_ text: String, of figure: Figure) throws(Failure) -> Double {
        let (value, example): (Double?, String) =
            switch figure.unit {
            case .nanoseconds: ((try? DurationText.parse(text)).map { Double($0.wholeNanoseconds) }, "200us")
            case .partsPerMillion: (number(text, unit: "ppm"), "50ppm")
            case .percent: (number(text, unit: "%"), "5%")
            case .perTick: (number(text, unit: ""), "1.5")
            }
        guard let value else { throw .invalid("write the bound of \(figure.rawValue) as in \(example)") }
        return value
    }

    /// A number of plain digits with a unit behind it.
    private static func number(_ text: String, unit: String) -> Double? {
        let digits = text.dropLast(unit.count)
        guard text.hasSuffix(unit), text.first?.isNumber == true,
            digits.allSatisfy({ $0 == "." || ($0.isASCII && $0.isNumber) }), let number = Double(digits),
            number.isFinite
        else { return nil }
        return number
    }
}
