internal import HostSystem
internal import TimerProbe
internal import TimerResults

/// The file of every tick. A turn is written as soon as it has ended.
final class TickFile {
    private let file: OutputFile
    private var hasBegun = false

    init(_ file: OutputFile) { self.file = file }

    /// Writes the ticks of a turn. The first call replaces the file's former content by a header.
    func append(_ lap: Int, _ key: RowKey, _ turn: Turn) throws {
        if !hasBegun { try file.replace(with: SampleLines.header) }
        hasBegun = true
        try file.append(SampleLines.lines(turn, of: key, lap: lap))
    }
}
