/// The progress of a measurement.
package struct Progress: Hashable, Sendable {
    package enum Stage: Hashable, Sendable {
        case warmUp
        case round(Int, of: Int)
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

    /// Every terminal has 80 columns. A text in the last column may already break the line.
    private static let widest = 79

    /// One line for a terminal.
    package var line: String {
        let done = min(elapsed, total)
        let width = 24
        let filled = total > .zero ? Int(Double(width) * (done / total)) : width
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: width - filled)
        let left = Int(((total - done) / .seconds(1)).rounded(.up))
        let stage =
            switch stage {
            case .warmUp: "warm-up"
            case .round(let round, let rounds): "round \(round) of \(rounds)"
            }
        let (before, after) = ("[\(bar)] \(stage): ", ", \(left) s left")
        // The terminal cannot take back a broken line.
        let room = max(Self.widest - before.count - after.count, 1)
        return before + (row.count <= room ? row : row.prefix(room - 1) + "…") + after
    }
}
