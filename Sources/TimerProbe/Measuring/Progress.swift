/// The progress of a measurement.
package struct Progress: Hashable, Sendable {
    package enum Stage: Hashable, Sendable {
        case warmUp
        case lap(Int, of: Int)
    }

    package let stage: Stage
    /// The name of the row that is being measured.
    package let row: String
    /// The time since the beginning.
    package let elapsed: Duration
    /// The expected time of the whole measurement.
    package let total: Duration

    package init(stage: Stage, row: String, elapsed: Duration, total: Duration) {
        self.stage = stage
        self.row = row
        self.elapsed = elapsed
        self.total = total
    }

    /// One line for a terminal with so many columns. A text in the last column may already break the line, and the
    /// terminal cannot take back a broken line.
    package func line(width columns: Int = 80, note: String = "") -> String {
        let done = min(elapsed, total)
        let width = max(min(24, columns - 50), 4)
        let filled = total > .zero ? Int(Double(width) * (done / total)) : width
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: width - filled)
        let left = Int(((total - done) / .seconds(1)).rounded(.up))
        let stage =
            switch stage {
            case .warmUp: "warm-up"
            case .lap(let lap, let laps): "lap \(lap) of \(laps)"
            }
        let (before, after) = ("[\(bar)] \(stage): ", (note.isEmpty ? "" : ", \(note)") + ", \(left) s left")
        let room = max(columns - 1 - before.count - after.count, 1)
        let line = before + (row.count <= room ? row : row.prefix(room - 1) + "…") + after
        return String(line.prefix(max(columns - 1, 0)))
    }
}
