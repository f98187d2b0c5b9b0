internal import Glibc

/// The running kernel's own description (uname(2)).
package struct SystemName: Hashable, Sendable {
    /// For example `Linux`.
    package let system: String
    /// For example `6.12.0-amd64`.
    package let release: String
    /// When and how the kernel was built, for example `#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1`.
    package let version: String
    /// For example `x86_64`.
    package let machine: String

    package init() {
        var name = utsname()
        unsafe uname(&name)
        (system, release) = (String(characters: name.sysname), String(characters: name.release))
        (version, machine) = (String(characters: name.version), String(characters: name.machine))
    }
}

extension String {
    /// The text of a fixed array, which Swift sees as a tuple of characters.
    init(characters: some Any) {
        self = unsafe withUnsafeBytes(of: characters) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
