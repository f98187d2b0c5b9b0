import TimerProbe
import TimerReport
import TimerResults

/// Texts of the command line: lengths of time, rules and loads. Each is refused, or survives reading and writing.
package enum TextsCheck {
    package static func run(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        length(text)
        rule(text)
        load(text)
    }

    private static func length(_ text: String) {
        guard let length = try? DurationText.parse(text) else { return }
        precondition(length >= .zero, "a length has no sign")
        let (seconds, attoseconds) = length.components
        let written = DurationText.format(
            nanoseconds: UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000
        )
        precondition((try? DurationText.parse(written)) == length, "\(text) is written as \(written)")
    }

    private static func rule(_ text: String) {
        guard let rule = try? Rule.parse(text) else { return }
        precondition(!rule.row.isEmpty)
        // The description has single spaces, and no line end.
        precondition((try? Rule.parse(rule.description)) == rule, "\(text) is written as \(rule)")
        switch rule.condition {
        case .beyond(_, _, let number), .later(_, let number, _): precondition(number.isFinite && number >= 0)
        }
    }

    private static func load(_ text: String) {
        guard let load = try? Load.parse(text) else { return }
        precondition((try? Load.parse(load.name)) == load, "\(text) is written as \(load.name)")
    }
}

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
