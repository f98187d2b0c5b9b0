import TimerProbe
import TimerReport
import TimerResults

/// Texts of the command line: lengths of time, needs, loads and wishes. Each is refused, or survives reading and
/// writing.
package enum TextsCheck {
    package static func run(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        length(text)
        need(text)
        load(text)
        wishes(text)
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

    private static func need(_ text: String) {
        guard let need = try? Need.parse(text) else { return }
        precondition(!need.clauses.isEmpty)
        // The description has single spaces, and no line end.
        precondition((try? Need.parse(need.description)) == need, "\(text) is written as \(need)")
        for clause in need.clauses {
            switch clause.condition {
            case .below(_, let number), .above(_, let number), .later(_, let number, _):
                precondition(number.isFinite && number >= 0)
            }
        }
    }

    private static func wishes(_ text: String) {
        guard let wishes = try? ThreadWishes.parse(text) else { return }
        precondition((try? ThreadWishes.parse(wishes.text ?? "")) == wishes, "\(text) is read again")
    }

    private static func load(_ text: String) {
        guard let load = try? Load.parse(text) else { return }
        precondition((try? Load.parse(load.name)) == load, "\(text) is written as \(load.name)")
    }
}

/// Files of results: each is refused, or gives results that every format can show, and that can be pooled, compared,
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
        for isWide in [false, true] { _ = Screen(report, isWide: isWide, inColour: true).description }
        _ = SideBySide([("a", report), ("b", report)]).description
        _ = CSVTable(report).description + MarkdownTable(report).description
        for text in [
            "p99 < 1ms, cpu < 5%", "timerfd.drift < 50ppm", "timerfd.p50 later 5% than hybrid",
            "timerfd.p50 later 5% than a.json",
        ] {
            guard let need = try? Need.parse(text) else { preconditionFailure("\(text) is a need") }
            if let judgement = try? Judgement(need, of: report, earlier: ["a.json": report]) {
                _ = JUnitFile([judgement]).description
            }
        }
        // Results of too many laps are not pooled. Others can be read again.
        guard let pooled = try? Results.pooled([results, results]) else { return }
        let text = try? JSONFile.encode(Report(pooled))
        precondition(text.flatMap { try? JSONFile.decode($0.utf8) } == pooled, "what was pooled is read again")
    }
}
