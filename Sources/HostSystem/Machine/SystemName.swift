internal import Glibc

/// The kernel's own description, as `uname` shows it.
package struct SystemName: Hashable, Sendable {
    /// For example `Linux`.
    package let system: String
    /// The kernel's release, for example `6.12.0-amd64`.
    package let release: String
    /// When and how the kernel was built, for example `#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1`.
    package let version: String
    /// The kind of machine, for example `x86_64`.
    package let machine: String

    /// The description of the running kernel.
    package init() {
        var name = utsname()
        unsafe uname(&name)
        system = Self.text(name.sysname)
        release = Self.text(name.release)
        version = Self.text(name.version)
        machine = Self.text(name.machine)
    }

    /// The text of a fixed array, which Swift sees as a tuple of characters.
    private static func text<Characters>(_ characters: Characters) -> String {
        unsafe withUnsafeBytes(of: characters) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
