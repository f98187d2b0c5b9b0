import TimerReport
import TimerResults

/// Files of results: each is refused, or gives results that every format can show, and that can be merged, compared,
/// judged and read again.
package enum ResultsCheck {
    package static func run(_ bytes: [UInt8]) {
        guard let results = try? JSONFile.decode(bytes) else { return }
        let report = Report(results)
        do {
            let again = try JSONFile.decode(try JSONFile.encode(report).utf8)
            precondition(again == results, "what is written is read again")
        } catch {
            preconditionFailure("what was read cannot be written and read again: \(error)")
        }
        _ =
            ResultTable(report, inColour: true).description + CSVTable(report).description
            + MarkdownTable(report).description
        _ = Page(report).html
        _ = Difference(old: report, new: report).description
        _ = Recommendation(.init(lateness: 1_000_000, cpu: 50), from: report).description
        for file in PercentileFile.all(report) { precondition(!file.text.isEmpty) }
        for text in [
            "timerfd.lateness.p99 > 1.2x", "dispatch.cpu > 5%", "timerfd.drift > 50ppm", "timerfd.missed < 1%",
        ] {
            if let rule = try? Rule.parse(text) { _ = try? Judgement([rule], of: report, baseline: report) }
        }
        // Results with too many rounds are not merged. Others can be read again.
        guard let merged = try? Results.merged([results, results]) else { return }
        let text = try? JSONFile.encode(Report(merged))
        precondition(text.flatMap { try? JSONFile.decode($0.utf8) } == merged, "what was merged is read again")
    }
}
