/// How far a measurement has come.
package struct Progress: Hashable, Sendable {
    /// What it is doing.
    package enum Stage: Hashable, Sendable {
        case warmUp
        case round(Int, of: Int)
    }

    package let stage: Stage
    /// The name of the row that is being measured.
    package let row: String
    /// Nanoseconds since the beginning.
    package let elapsed: UInt64
    /// Nanoseconds that all of it is going to take.
    package let total: UInt64

    package init(stage: Stage, row: String, elapsed: UInt64, total: UInt64) {
        self.stage = stage
        self.row = row
        self.elapsed = elapsed
        self.total = total
    }

    /// The columns that every terminal has, but for the last one.
    private static let widest = 79

    /// One line for a terminal, below 80 columns wide.
    package var line: String {
        let done = min(elapsed, total)
        let width: UInt64 = 24
        let filled = Int(total == 0 ? width : done * width / total)
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: Int(width) - filled)
        let left = (total - done + 999_999_999) / 1_000_000_000
        let stage =
            switch stage {
            case .warmUp: "warm-up"
            case .round(let round, let rounds): "round \(round) of \(rounds)"
            }
        let (before, after) = ("[\(bar)] \(stage): ", ", \(left) s left")
        // A line that the terminal breaks could not be taken back.
        let room = max(Self.widest - before.count - after.count, 1)
        return before + (row.count <= room ? row : row.prefix(room - 1) + "…") + after
    }
}
