internal import Glibc

/// What the kernel calls itself, as `uname` shows it.
package struct SystemName: Hashable, Sendable {
    /// As in `Linux`.
    package let system: String
    /// The kernel's release, as in `6.12.0-amd64`.
    package let release: String
    /// The kind of machine, as in `x86_64`.
    package let machine: String

    /// That of the running kernel.
    package init() {
        var name = utsname()
        unsafe uname(&name)
        system = Self.text(name.sysname)
        release = Self.text(name.release)
        machine = Self.text(name.machine)
    }

    /// The text of a fixed array, which Swift sees as a tuple of its characters.
    private static func text<Characters>(_ characters: Characters) -> String {
        unsafe withUnsafeBytes(of: characters) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
