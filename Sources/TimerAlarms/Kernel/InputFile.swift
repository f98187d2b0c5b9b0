internal import Glibc
package import TimerCore

/// Reading a file whole.
package enum InputFile {
    /// What is in a file.
    ///
    /// - Throws: `TimerError` with the system's reason.
    package static func read(_ path: String) throws(TimerError) -> [UInt8] {
        switch SystemCall.retrying({ unsafe open(path, O_RDONLY | O_CLOEXEC) }) {
        case .success(let descriptor):
            defer { close(descriptor) }
            return try rest(of: descriptor, attempting: "reading \(path)")
        case .failure(let errno): throw errno.error(attempting: "reading \(path)")
        }
    }

    /// All that is left to read.
    static func rest(of descriptor: CInt, attempting attempted: String) throws(TimerError) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let result = SystemCall.retrying {
                unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            }
            switch result {
            case .success(0): return content
            case .success(let count): content += buffer[..<count]
            case .failure(let errno): throw errno.error(attempting: attempted)
            }
        }
    }
}
