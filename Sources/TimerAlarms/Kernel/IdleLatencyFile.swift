internal import Glibc

/// The file /dev/cpu_dma_latency, held open. While it is open, the kernel uses only idle states that a processor leaves
/// within the latency that was written to it (the kernel's Documentation/power/pm_qos_interface.rst).
final class IdleLatencyFile: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens the file and writes a latency in microseconds. Returns nil and the refusal if that fails.
    static func open(_ microseconds: Int32) -> (IdleLatencyFile?, Errno?) {
        switch SystemCall.retrying({ unsafe Glibc.open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC) }) {
        case .failure(let errno): return (nil, errno)
        case .success(let descriptor):
            let file = IdleLatencyFile(descriptor: descriptor)
            var value = microseconds
            let written = SystemCall.retrying { unsafe write(descriptor, &value, MemoryLayout<Int32>.size) }
            if case .failure(let errno) = written { return (nil, errno) }
            return (file, nil)
        }
    }
}
