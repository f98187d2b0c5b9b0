internal import TimerAlarms
internal import TimerMeasurement

/// Where every tick is written as soon as its turn has ended.
final class SampleFile {
    private let file: OutputFile

    private var hasBegun = false

    init(_ file: OutputFile) { self.file = file }

    /// Writes the ticks of a turn, before the first of them a header in place of what was in the file.
    func append(_ round: Int, _ case: Case, _ turn: Turn) throws {
        if !hasBegun { try file.replace(with: SampleLines.header) }
        hasBegun = true
        try file.append(SampleLines.lines(turn, of: `case`, round: round))
    }

    /// Takes it back: nothing came to it.
    func discard() { file.discard() }
}
