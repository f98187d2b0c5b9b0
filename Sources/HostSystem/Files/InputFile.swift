internal import SystemPackage

/// Reads whole files.
package enum InputFile {
    /// The bytes of a file. Throws `SystemError` if it cannot be read.
    package static func read(_ path: String) throws(SystemError) -> [UInt8] {
        try SystemError.attempting("reading \(path)") {
            let descriptor = try unsafe FileDescriptor.open(path, .readOnly, options: .closeOnExec)
            return try descriptor.closeAfter { try rest(of: descriptor) }
        }
    }

    /// The bytes of the standard input. Throws `SystemError` if it cannot be read.
    package static func standardInput() throws(SystemError) -> [UInt8] {
        try SystemError.attempting("reading the standard input") { try rest(of: .standardInput) }
    }

    /// All bytes from the current position on.
    static func rest(of descriptor: FileDescriptor) throws -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe descriptor.read(into: $0) }
            if count == 0 { return content }
            content += buffer[..<count]
        }
    }
}

/// The kernel's small text files.
package enum ProcFile {
    /// The whole text; nil if the file does not exist or cannot be read.
    package static func text(_ path: String) -> String? {
        (try? InputFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line that is not empty; nil if the file cannot be read or has no such line.
    package static func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n").first.map(String.init)
    }
}
