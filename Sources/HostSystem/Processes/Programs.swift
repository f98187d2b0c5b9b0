internal import Glibc

/// The installed programs.
package enum Programs {
    /// Folders of administrators' programs, which not every user's PATH names.
    private static let more = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"]

    /// The file of a program; nil if it is not installed.
    package static func path(of name: String) -> String? {
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
        let directories = path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        return (directories + more).lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }
}
