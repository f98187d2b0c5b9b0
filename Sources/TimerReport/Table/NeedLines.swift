package import TimerResults

extension Judgement {
    /// `need p99 < 200us: undecided`
    package var title: String { "need \(need): \(outcome.words)" }

    /// The need, and a line for each row; on a terminal with so many columns, wrapped.
    package func lines(width: Int? = nil) -> String {
        let names = findings.map(\.name.count).max() ?? 0
        let rows = findings.flatMap { finding in
            let (word, row) = (finding.outcome.words, finding.name)
            let label = "  \(word)\(spaces(max(13 - word.count, 0)))  \(row)\(spaces(names - row.count))  "
            return String.labelled(label, finding.reason, width: width)
        }
        return (String.labelled("need ", "\(need): \(outcome.words)", width: width) + rows).joined(separator: "\n")
    }
}

extension Judgement.Finding {
    /// `undecided: timerfd, p99 19 ms (0.16–32); to tell takes some 2 times as long`
    var sentence: String { "\(outcome.words): \(name), \(reason)" }
}
