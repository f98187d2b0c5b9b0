internal import Glibc
package import TimerCore

/// Reading a file whole.
package enum InputFile {
    /// What is in a file.
    ///
    /// - Throws: `TimerError` with the system's reason.
    package static func read(_ path: String) throws(TimerError) -> [UInt8] {
        let attempted = "reading \(path)"
        let descriptor: CInt
        switch SystemCall.retrying({ unsafe open(path, O_RDONLY | O_CLOEXEC) }) {
        case .success(let opened): descriptor = opened
        case .failure(let errno): throw errno.error(attempting: attempted)
        }
        defer { close(descriptor) }
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
