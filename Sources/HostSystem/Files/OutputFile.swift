internal import Glibc
internal import Synchronization
internal import SystemPackage

/// A file for results. It is checked before the measurement, so a name that cannot be written is an error at once.
///
/// A new file comes into being when something is written: a command that is killed before leaves no empty files.
package final class OutputFile: Sendable {
    package let path: String
    /// Opened by the first use.
    private let opened = Mutex<FileDescriptor?>(nil)

    /// Checks a file, and keeps its content until something is written.
    ///
    /// - Throws: `SystemError` if it could not be written.
    package init(_ path: String) throws(SystemError) {
        self.path = path
        guard !path.isEmpty else { throw SystemError("writing to a file", "its name is empty") }
        // A new file is created and taken back: nothing else shows as surely that it can be created.
        let new = try SystemError.attempting("opening \(path) to write to it") { () -> FileDescriptor? in
            do { return try Self.open(path, .exclusiveCreate) } catch Errno.fileExists { return nil }
        }
        if let new {
            try? new.close()
            _ = unsafe unlink(path)
        } else {
            _ = try open()
        }
    }

    deinit { try? opened.withLock { $0 }?.close() }

    /// Replaces the content with text.
    package func replace(with text: String) throws(SystemError) {
        let descriptor = try open()
        try SystemError.attempting("writing to \(path)") {
            // A pipe or a device, as /dev/stdout, has no length to change.
            do { try descriptor.resize(to: 0) } catch Errno.invalidArgument {}
        }
        // The files without a length have no position either.
        _ = try? descriptor.seek(offset: 0, from: .start)
        try append(text)
    }

    /// Writes text behind the text before.
    package func append(_ text: String) throws(SystemError) {
        let descriptor = try open()
        try SystemError.attempting("writing to \(path)") { _ = try descriptor.writeAll(text.utf8) }
    }

    /// Writes text behind everything that the file has.
    package func appendAtEnd(_ text: String) throws(SystemError) {
        let descriptor = try open()
        try SystemError.attempting("writing to \(path)") { _ = try descriptor.seek(offset: 0, from: .end) }
        try append(text)
    }

    private func open() throws(SystemError) -> FileDescriptor {
        if let opened = opened.withLock({ $0 }) { return opened }
        let descriptor = try SystemError.attempting("opening \(path) to write to it") { try Self.open(path, .create) }
        opened.withLock { $0 = descriptor }
        return descriptor
    }

    private static func open(_ path: String, _ option: FileDescriptor.OpenOptions) throws -> FileDescriptor {
        // Not as a FilePath, which drops the slash that makes a name a folder's.
        try unsafe FileDescriptor.open(
            path,
            .writeOnly,
            options: [option, .create, .closeOnExec],
            permissions: FilePermissions(rawValue: 0o666)
        )
    }

    /// Whether two names lead to one file, whether it exists or not. Two hard links
    /// of one file count as two, and so do a link that leads nowhere and its goal.
    package static func isSame(_ first: String, _ second: String) -> Bool {
        guard let first = full(first), let second = full(second) else { return first == second }
        return first == second
    }

    /// The name without links and detours; nil without a name or a folder.
    private static func full(_ path: String) -> FilePath? {
        var path = FilePath(path)
        if let real = real(path) { return real }
        let name = path.lastComponent
        path.removeLastComponent()
        return name.flatMap { name in real(path.isEmpty ? "." : path)?.appending(name) }
    }

    private static func real(_ path: FilePath) -> FilePath? {
        guard let real = unsafe realpath(path.string, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe FilePath(platformString: real)
    }

    /// Creates a folder unless it exists.
    ///
    /// - Throws: `SystemError` if that fails, or if files cannot be created in the folder.
    package static func createFolder(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o777) != 0, errno != EEXIST { throw .last("creating the folder \(path)") }
        // Only folders have a dot.
        if unsafe access(path + "/.", W_OK | X_OK) != 0 { throw .last("writing into the folder \(path)") }
    }
}
