internal import TimerAlarms
internal import TimerMeasurement

/// Where every tick is written as soon as its turn has ended.
final class SampleFile {
    private let file: OutputFile

    /// Begins the file with its header.
    init(_ file: OutputFile) throws {
        self.file = file
        try file.replace(with: SampleLines.header)
    }

    /// Writes the ticks of a turn.
    func append(_ round: Int, _ case: Case, _ turn: Turn) throws {
        try file.append(SampleLines.lines(turn, of: `case`, round: round))
    }

    /// Takes it back: nothing came to it.
    func discard() { file.discard() }
}
