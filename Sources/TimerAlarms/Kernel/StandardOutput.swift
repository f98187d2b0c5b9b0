internal import Glibc
package import TimerCore

/// The descriptor that results go to.
package enum StandardOutput {
    /// Whether somebody reads what is written, and not a file or a program.
    package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes text as it is, all of it: results that a full disk has cut short must not pass for results.
    package static func write(_ text: String) throws(TimerError) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let result = SystemCall.retrying {
                unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            }
            switch result {
            case .success(let count): bytes = bytes.dropFirst(count)
            case .failure(let errno): throw errno.error(attempting: "writing the results")
            }
        }
    }
}
