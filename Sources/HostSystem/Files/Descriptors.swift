internal import SystemPackage

/// The descriptors that this process may still open.
package enum Descriptors {
    /// Opens some descriptors and closes them again, for a library that ends the process if it cannot open its own.
    ///
    /// Another thread may take the descriptors after this check, so the library may still end the process.
    ///
    /// - Parameters:
    ///   - count: the number of descriptors that the library needs.
    ///   - attempted: the purpose, for the error.
    /// - Throws: `SystemError` if that many cannot be opened.
    package static func check(_ count: Int, for attempted: String) throws(SystemError) {
        var opened: [FileDescriptor] = []
        defer { for descriptor in opened { try? descriptor.close() } }
        for _ in 0..<count {
            opened.append(
                try SystemError.attempting(attempted) {
                    try .open(FilePath("/dev/null"), .readOnly, options: .closeOnExec)
                }
            )
        }
    }
}
