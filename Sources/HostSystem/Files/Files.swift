internal import Glibc
internal import Synchronization
internal import TimerKernel

/// Reads whole files.
package enum InputFile {
    /// The bytes of a file. Throws `SystemError` if it cannot be read.
    package static func read(_ path: String) throws(SystemError) -> [UInt8] {
        try SystemError.attempting("reading \(path)") { () throws(Errno) in
            try OpenFile(path, O_RDONLY).rest()
        }
    }

    /// The bytes of the standard input. Throws `SystemError` if it cannot be read.
    package static func standardInput() throws(SystemError) -> [UInt8] {
        try SystemError.attempting("reading the standard input") { () throws(Errno) in
            try OpenFile.standardInput.rest()
        }
    }
}

/// The kernel's small text files.
package enum ProcFile {
    /// The whole text; nil if the file does not exist or cannot be read.
    package static func text(_ path: String) -> String? {
        (try? InputFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line that is not empty; nil if the file cannot be read or has no such line.
    package static func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n").first.map(String.init)
    }
}

/// An open file of this process, closed with the object. Programs that the process starts do not get it.
final class OpenFile: Sendable {
    /// The standard streams stay open, as globals do.
    static let (standardInput, standardOutput, standardError) =
        (OpenFile(STDIN_FILENO), OpenFile(STDOUT_FILENO), OpenFile(STDERR_FILENO))

    let number: CInt

    /// Takes over a descriptor.
    init(_ number: CInt) { self.number = number }

    /// Opens a file. The process's mask takes rights from a file that this creates (umask(2)).
    init(_ path: String, _ flags: CInt) throws(Errno) {
        number = try SystemCall.retrying { unsafe open(path, flags | O_CLOEXEC, 0o666) }.get()
    }

    deinit { close(number) }

    /// All bytes from the current position on.
    func rest() throws(Errno) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try SystemCall.retrying { unsafe read(number, &buffer, buffer.count) }.get()
            if count == 0 { return content }
            content += buffer[..<count]
        }
    }

    /// Writes the whole text at the current position.
    func write(_ text: String) throws(Errno) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = SystemCall.retrying {
                unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(try count.get())
        }
    }
}

/// A file for results. It is checked before the measurement, so a name that cannot be written is an error at once. A
/// new file comes into being when something is written: a command that is killed before leaves no empty files.
package final class OutputFile: Sendable {
    package let path: String
    /// Opened by the first use.
    private let opened = Mutex<OpenFile?>(nil)

    /// Checks a file, and keeps its content. Throws `SystemError` if it could not be written.
    package init(_ path: String) throws(SystemError) {
        self.path = path
        guard !path.isEmpty else { throw SystemError("writing to a file", "its name is empty") }
        // A new file is created and taken back: nothing else shows as surely that it can be created.
        let isNew = try attempt { () throws(Errno) in
            do throws(Errno) { _ = try Self.open(path, O_EXCL) } catch Errno(EEXIST) { return false }
            return true
        }
        if isNew { _ = unsafe unlink(path) } else { _ = try open() }
    }

    /// Replaces the content with text. If that fails, as on a full disk, the file keeps its former content: the text
    /// goes to a temporary file in the same folder, which then takes the file's place.
    ///
    /// The text goes directly to a pipe, to a device, and to a file that is a standard stream of this process. So it
    /// does if the folder admits no new file, or if the file cannot be renamed, as a mount point in a container.
    package func replace(with text: String) throws(SystemError) {
        if try takePlace(with: text) { return }
        let file = try open()
        try attempt { () throws(Errno) in
            // A pipe or a device, as /dev/stdout, has neither a length to change nor a position.
            do throws(Errno) { _ = try SystemCall.retrying { ftruncate(file.number, 0) }.get() } catch Errno(EINVAL) {}
        }
        lseek(file.number, 0, SEEK_SET)
        try append(text)
    }

    /// Writes text behind the text before, directly to the file.
    package func append(_ text: String) throws(SystemError) {
        let file = try open()
        try attempt { () throws(Errno) in try file.write(text) }
    }

    /// Writes text to a temporary file, and renames it to the file's name. Returns false if the text must go directly
    /// to the file.
    private func takePlace(with text: String) throws(SystemError) -> Bool {
        var former = stat()
        let exists = unsafe stat(path, &former) == 0
        guard let goal = exists ? Self.withoutLinks(path) : path, !exists || Self.isReplaceable(former) else {
            return false
        }
        let folder = goal.lastIndex(of: "/").map { String(goal[...$0]) } ?? "./"
        guard unsafe access(folder, W_OK | X_OK) == 0 else { return false }
        let temporary = "\(folder).output-\(getpid())-\(SystemClock.monotonic.nanoseconds)"
        let new = try attempt { () throws(Errno) in try Self.open(temporary, O_EXCL) }
        var isRenamed = false
        defer { if !isRenamed { _ = unsafe unlink(temporary) } }
        try attempt { () throws(Errno) in
            // The owner first, since a new owner may change the mode. Only root can give a file to another user.
            if exists {
                _ = fchown(new.number, former.st_uid, former.st_gid)
                _ = fchmod(new.number, former.st_mode & 0o7777)
            }
            try new.write(text)
            // Some file systems notice only now that they are full.
            _ = try SystemCall.retrying { fsync(new.number) }.get()
        }
        isRenamed = unsafe rename(temporary, goal) == 0
        if isRenamed { opened.withLock { $0 = new } }
        return isRenamed
    }

    /// Whether a file is a regular one, and no standard stream of this process, which would go on in the former file.
    private static func isReplaceable(_ file: stat) -> Bool {
        file.st_mode & S_IFMT == S_IFREG
            && (STDIN_FILENO...STDERR_FILENO)
                .allSatisfy { number in
                    var stream = stat()
                    return unsafe fstat(number, &stream) != 0 || stream.st_ino != file.st_ino
                        || stream.st_dev != file.st_dev
                }
    }

    private static func withoutLinks(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    private func attempt<Outcome>(_ body: () throws(Errno) -> Outcome) throws(SystemError) -> Outcome {
        try SystemError.attempting("writing to \(path)", body)
    }

    private func open() throws(SystemError) -> OpenFile {
        if let opened = opened.withLock({ $0 }) { return opened }
        let file = try attempt { () throws(Errno) in try Self.open(path) }
        opened.withLock { $0 = file }
        return file
    }

    private static func open(_ path: String, _ flag: CInt = 0) throws(Errno) -> OpenFile {
        try OpenFile(path, O_WRONLY | O_CREAT | flag)
    }
}
