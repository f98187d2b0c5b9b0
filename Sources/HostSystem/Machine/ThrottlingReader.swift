internal import Glibc
internal import TimerKernel

/// Reads the accounts of the groups with a quota again and again, with one system call for each.
///
/// A quota stops a thread when a system call returns. If each reading opened the file, a stop between the two calls
/// would already be in the account that is meant to be the one before the stop.
package final class ThrottlingReader: Sendable {
    /// Nil for a file that cannot be opened.
    private let files: [OpenFile?]

    /// Opens the accounts of the groups that have a limit now.
    package init(_ quota: CPUQuota = .current) {
        files = quota.groups.map { try? OpenFile($0.account, O_RDONLY) }
    }

    /// What each of the groups has counted up to now; nil if that is not shown. Empty without a limit.
    package var accounts: [Throttling?] { files.map { $0.flatMap { Self.account(in: $0) } } }

    private static func account(in file: OpenFile) -> Throttling? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = try? SystemCall.retrying { unsafe pread(file.number, &buffer, buffer.count, 0) }.get()
        return count.flatMap { Throttling(String(decoding: buffer.prefix($0), as: UTF8.self)) }
    }
}
