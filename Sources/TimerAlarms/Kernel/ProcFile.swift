internal import Glibc
internal import TimerCore

/// Small text files, most of them the kernel's.
package enum ProcFile {
    /// The whole text; nil where there is no such file or it cannot be read.
    package static func text(_ path: String) -> String? {
        let opened = SystemCall.retrying { unsafe open(path, O_RDONLY | O_CLOEXEC) }
        guard case .success(let descriptor) = opened else { return nil }
        defer { close(descriptor) }
        return text(of: descriptor)
    }

    /// All that is left to read; nil where it cannot be read.
    static func text(of descriptor: CInt) -> String? {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let result = SystemCall.retrying {
                unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            }
            guard case .success(let count) = result else { return nil }
            if count == 0 { return String(decoding: text, as: UTF8.self) }
            text += buffer[..<count]
        }
    }
}
