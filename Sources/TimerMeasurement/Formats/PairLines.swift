/// What the pairs have to say, a line for each.
struct PairLines: Sendable {
    /// Two cases, with what either figure says.
    private struct Pair {
        let first: Case
        let second: Case
        var figures: [PairReport]
    }

    private let pairs: [Pair]
    private let rounds: Int

    init(_ report: Report) {
        var pairs: [Pair] = []
        for figure in report.pairs {
            if pairs.last?.first == figure.first, pairs.last?.second == figure.second {
                pairs[pairs.count - 1].figures.append(figure)
            } else {
                pairs.append(Pair(first: figure.first, second: figure.second, figures: [figure]))
            }
        }
        self.pairs = pairs
        rounds = report.results.rounds.count
    }

    /// What the numbers are; nil where there are no pairs.
    var heading: String? {
        guard !pairs.isEmpty else { return nil }
        let share = NumberText.fixed(100 * Comparing.confidence, places: 0)
        return
            "Pairs: the first's lateness (corrected) as a multiple of the second's, and where that may well lie (\(share) %)."
            + (rounds < Comparing.fewestRounds
                ? "\nFewer than \(Comparing.fewestRounds) rounds tell nothing apart, and these are \(rounds)." : "")
    }

    /// Aligned, with a heading; none where there are no pairs.
    func lines(colour: Bool) -> [String] {
        guard let heading else { return [] }
        let names = pairs.map { "\($0.first) : \($0.second)" }
        let texts = pairs.map { pair in Comparing.Figure.allCases.map { text($0, of: pair) } }
        let widths = Comparing.Figure.allCases.indices.map { column in texts.map { $0[column].text.count }.max() ?? 0 }
        let width = names.map(\.count).max() ?? 0
        return [heading]
            + zip(names, texts)
            .map { name, texts in
                let figures = zip(texts, widths).map { $0.padded(to: $1, flushLeft: true, colour: colour) }
                let padded = Inked(name).padded(to: width, flushLeft: true, colour: false)
                return ([padded] + figures).joined(separator: "   ").trimmedAtTheEnd
            }
    }

    /// A line for each pair: the names, and what each figure says.
    var cells: [[String]] {
        pairs.map { pair in
            ["\(pair.first)", "\(pair.second)"] + Comparing.Figure.allCases.map { text($0, of: pair).text }
        }
    }

    private func text(_ figure: Comparing.Figure, of pair: Pair) -> Inked {
        guard let report = pair.figures.first(where: { $0.figure == figure }) else { return Inked("") }
        let numbers = [report.ratio, report.low, report.high].map { NumberText.ratio($0) }
        // All verdicts are as long as the longest, so that the numbers stand below each other.
        let longest = Comparing.Verdict.indistinguishable.rawValue.count
        let verdict = Inked(report.verdict.rawValue).padded(to: longest, flushLeft: true, colour: false)
        return Inked(
            "\(figure.rawValue) \(verdict) × \(numbers[0]) (\(numbers[1]) to \(numbers[2]))",
            report.verdict == .indistinguishable ? .faint : .strong
        )
    }
}
