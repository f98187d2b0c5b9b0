internal import Glibc
package import TimerKernel

/// Reads whole files.
enum InputFile {
    /// The bytes of a file. Throws `Failure` if it cannot be read.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        try Failure.attempting("reading \(path)") { () throws(Errno) in
            try OpenFile(path, O_RDONLY).rest()
        }
    }

    /// The bytes of the standard input. Throws `Failure` if it cannot be read.
    static func standardInput() throws(Failure) -> [UInt8] {
        try Failure.attempting("reading the standard input") { () throws(Errno) in
            try OpenFile.standardInput.rest()
        }
    }
}

/// The kernel's small text files.
enum ProcFile {
    /// The whole text; nil if the file does not exist or cannot be read.
    static func text(_ path: String) -> String? {
        (try? InputFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first line that is not empty; nil if the file cannot be read or has no such line.
    static func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n").first.map(String.init)
    }
}

/// An open file of this process, closed with the object. Programs that the process starts do not get it.
package final class OpenFile: Sendable {
    /// The standard streams stay open, as globals do.
    package static let (standardInput, standardOutput, standardError) =
        (OpenFile(STDIN_FILENO), OpenFile(STDOUT_FILENO), OpenFile(STDERR_FILENO))

    package let number: CInt

    /// Takes over a descriptor.
    init(_ number: CInt) { self.number = number }

    /// Opens a file. The process's mask takes rights from a file that this creates (umask(2)).
    package init(_ path: String, _ flags: CInt) throws(Errno) {
        number = try SystemCall.retrying { unsafe open(path, flags | O_CLOEXEC, 0o666) }.get()
    }

    deinit { close(number) }

    /// All bytes from the current position on.
    func rest() throws(Errno) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try SystemCall.retrying { unsafe read(number, &buffer, buffer.count) }.get()
            if count == 0 { return content }
            content += buffer[..<count]
        }
    }

    /// Writes the whole text at the current position.
    package func write(_ text: String) throws(Errno) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = SystemCall.retrying {
                unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(try count.get())
        }
    }
}
