internal import Glibc

/// The programs that are installed.
package enum Programs {
    /// Where administrators' programs are, which is not on everyone's path.
    private static let more = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"]

    /// The file of a program; nil where it is not installed.
    package static func path(of name: String) -> String? {
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
        let directories = path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        return (directories + more).lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }
}
