import TimerProbe
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
