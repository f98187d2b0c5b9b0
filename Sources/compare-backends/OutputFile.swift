#if Instrument
internal import BackendComparison
internal import Glibc
internal import TimerKernel

/// A file for results. It is checked before the measurement, so a name that cannot be written is an error at once. A
/// new file comes into being when something is written: a command that is killed before leaves no empty files.
final class OutputFile {
    let path: String
    /// Opened by the first use.
    private var opened: OpenFile?

    /// Checks a file, and keeps its content. Throws `Failure` if it could not be written.
    init(_ path: String) throws(Failure) {
        self.path = path
        guard !path.isEmpty else { throw .invalid("writing to a file: its name is empty") }
        // A new file is created and taken back: nothing else shows as surely that it can be created.
        let isNew = try attempt { () throws(Errno) in
            do throws(Errno) { _ = try Self.open(path, O_EXCL) } catch Errno(EEXIST) { return false }
            return true
        }
        if isNew { _ = unsafe unlink(path) } else { _ = try open() }
    }

    /// Replaces the content with text. If that fails, as on a full disk, a part of the text may be there.
    func replace(with text: String) throws(Failure) {
        let file = try open()
        try attempt { () throws(Errno) in
            // A pipe or a device has neither a length to change nor a position.
            do throws(Errno) { _ = try SystemCall.retrying { ftruncate(file.number, 0) }.get() } catch Errno(EINVAL) {}
        }
        lseek(file.number, 0, SEEK_SET)
        try append(text)
    }

    /// Writes text behind the text before, directly to the file.
    func append(_ text: String) throws(Failure) {
        let file = try open()
        try attempt { () throws(Errno) in try file.write(text) }
    }

    private func attempt<Outcome>(_ body: () throws(Errno) -> Outcome) throws(Failure) -> Outcome {
        try Failure.attempting("writing to \(path)", body)
    }

    private func open() throws(Failure) -> OpenFile {
        if let opened { return opened }
        let file = try attempt { () throws(Errno) in try Self.open(path) }
        opened = file
        return file
    }

    private static func open(_ path: String, _ flag: CInt = 0) throws(Errno) -> OpenFile {
        try OpenFile(path, O_WRONLY | O_CREAT | flag)
    }
}
#endif
