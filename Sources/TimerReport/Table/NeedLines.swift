package import TimerResults

extension Judgement {
    /// `need p99 < 200us: undecided`
    package var title: String { "need \(need): \(outcome.words)" }

    /// The need, and a line for each row.
    package var lines: String {
        let width = findings.map(\.name.count).max() ?? 0
        let rows = findings.map { finding in
            let row = finding.name + String(repeating: " ", count: width - finding.name.count)
            let word = finding.outcome.words
            return "  \(word)\(String(repeating: " ", count: max(13 - word.count, 0)))  \(row)  \(finding.reason)"
        }
        return ([title] + rows).joined(separator: "\n")
    }
}

extension Judgement.Finding {
    /// `undecided: timerfd, p99 19 ms (0.16–32); to tell takes some 2 times as long`
    var sentence: String { "\(outcome.words): \(name), \(reason)" }
}
