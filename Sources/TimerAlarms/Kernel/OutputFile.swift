internal import Glibc
package import TimerCore

/// A file that results go to. Opened before they exist, so that a name that cannot be written costs nobody a measurement.
package final class OutputFile: Sendable {
    /// Its name.
    package let path: String
    private let descriptor: CInt
    /// Whether there was no such file before.
    private let isNew: Bool

    /// Opens a file, and leaves what is in it until something is written.
    ///
    /// - Throws: `TimerError` with the system's reason.
    package init(_ path: String) throws(TimerError) {
        self.path = path
        isNew = unsafe access(path, F_OK) != 0
        let result = SystemCall.retrying { unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666) }
        switch result {
        case .success(let descriptor): self.descriptor = descriptor
        case .failure(let errno): throw errno.error(attempting: "opening \(path) to write to it")
        }
    }

    deinit { close(descriptor) }

    /// Writes text in place of all that was in it.
    package func replace(with text: String) throws(TimerError) {
        try truncate()
        try append(text)
    }

    /// Empties it.
    package func truncate() throws(TimerError) {
        // What is no regular file, as /dev/stdout or a pipe, has no length to change.
        if case .failure(let errno) = SystemCall.retrying({ ftruncate(descriptor, 0) }), errno != Errno(EINVAL) {
            throw errno.error(attempting: "writing to \(path)")
        }
        // Where it cannot be emptied there is no beginning to go back to either.
        lseek(descriptor, 0, SEEK_SET)
    }

    /// Writes text behind what was written before.
    package func append(_ text: String) throws(TimerError) {
        try DescriptorWriting.write(text, to: descriptor, attempting: "writing to \(path)")
    }

    /// Removes it again if it was not there before: for one that nothing came to.
    package func discard() { if isNew { unsafe unlink(path) } }

    /// Creates a folder where there is none.
    ///
    /// - Throws: `TimerError` with the system's reason, also where no file can be put into it.
    package static func createFolder(_ path: String) throws(TimerError) {
        if case .failure(let errno) = SystemCall.retrying({ unsafe mkdir(path, 0o777) }), errno != Errno(EEXIST) {
            throw errno.error(attempting: "creating the folder \(path)")
        }
        // The dot is there in folders only.
        if case .failure(let errno) = SystemCall.retrying({ unsafe access(path + "/.", W_OK | X_OK) }) {
            throw errno.error(attempting: "writing into the folder \(path)")
        }
    }
}
