internal import Glibc
internal import TimerCore

/// Writing to a descriptor until all is written: results that a full disk has cut short must not pass for results.
enum DescriptorWriting {
    static func write(_ text: String, to descriptor: CInt, attempting attempted: String) throws(TimerError) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let result = SystemCall.retrying {
                unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            }
            switch result {
            case .success(let count): bytes = bytes.dropFirst(count)
            case .failure(let errno): throw errno.error(attempting: attempted)
            }
        }
    }
}
