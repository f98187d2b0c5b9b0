internal import Glibc
internal import SystemPackage

/// A file for results. It is opened before the measurement, so a name that cannot be written is an error at once.
package final class OutputFile: Sendable {
    package let path: String
    private let descriptor: FileDescriptor
    /// Whether this opened file did not exist before.
    private let isNew: Bool

    /// Opens a file, and keeps its content until something is written.
    ///
    /// - Throws: `SystemError` if it cannot be opened.
    package init(_ path: String) throws(SystemError) {
        self.path = path
        isNew = unsafe access(path, F_OK) != 0
        descriptor = try SystemError.attempting("opening \(path) to write to it") {
            // Not as a FilePath, which drops the slash that makes a name a folder's.
            try unsafe .open(
                path,
                .writeOnly,
                options: [.create, .closeOnExec],
                permissions: FilePermissions(rawValue: 0o666)
            )
        }
    }

    deinit { try? descriptor.close() }

    /// Replaces the content with text.
    package func replace(with text: String) throws(SystemError) {
        try truncate()
        try append(text)
    }

    /// Removes the content.
    package func truncate() throws(SystemError) {
        try SystemError.attempting("writing to \(path)") {
            // A pipe or a device, as /dev/stdout, has no length to change.
            do { try descriptor.resize(to: 0) } catch Errno.invalidArgument {}
        }
        // The files without a length have no position either.
        _ = try? descriptor.seek(offset: 0, from: .start)
    }

    /// Writes text behind the text before.
    package func append(_ text: String) throws(SystemError) {
        try SystemError.attempting("writing to \(path)") { _ = try descriptor.writeAll(text.utf8) }
    }

    /// Removes a file that did not exist before, if there are no results for it.
    package func discard() { if isNew { unsafe unlink(path) } }

    /// Creates a folder unless it exists.
    ///
    /// - Throws: `SystemError` if that fails, or if files cannot be created in the folder.
    package static func createFolder(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o777) != 0, errno != EEXIST { throw .last("creating the folder \(path)") }
        // Only folders have a dot.
        if unsafe access(path + "/.", W_OK | X_OK) != 0 { throw .last("writing into the folder \(path)") }
    }
}
