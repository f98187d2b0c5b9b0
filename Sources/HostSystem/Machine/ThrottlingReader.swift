internal import SystemPackage

/// Reads the accounts of the groups with a quota again and again, with one system call for each.
///
/// A quota stops a thread when a system call returns. If each reading opened the file, a stop between the two calls
/// would already be in the account that is meant to be the one before the stop.
package final class ThrottlingReader: Sendable {
    /// Nil for a file that cannot be opened.
    private let files: [FileDescriptor?]

    /// Opens the accounts of the groups that have a limit now.
    package init(_ quota: CPUQuota = .current) {
        files = quota.groups.map { try? FileDescriptor.open(FilePath($0.account), .readOnly, options: .closeOnExec) }
    }

    deinit { for file in files { try? file?.close() } }

    /// What each of the groups has counted up to now; nil if that is not shown. Empty without a limit.
    package var accounts: [Throttling?] { files.map { $0.flatMap { Self.account(in: $0) } } }

    private static func account(in file: FileDescriptor) -> Throttling? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe try? file.read(fromAbsoluteOffset: 0, into: $0)
        }
        return count.flatMap { Throttling(String(decoding: buffer.prefix($0), as: UTF8.self)) }
    }
}
