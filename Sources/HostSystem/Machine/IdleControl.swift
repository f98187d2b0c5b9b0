internal import SystemPackage

/// The device that keeps idle processors awake: they use no state that takes longer to leave than the number that a
/// program writes to /dev/cpu_dma_latency, until the program closes it.
package enum IdleControl: Hashable, Sendable {
    /// This process may use the device.
    case allowed
    /// The device is there, and this process may not use it.
    case refused
    /// There is no such device.
    case missing

    /// What this process may do. Opening the device asks for nothing: the kernel's default stays until a write.
    package static var current: IdleControl { trying("/dev/cpu_dma_latency") }

    /// The same for another file.
    package static func trying(_ path: String) -> IdleControl {
        do {
            try FileDescriptor.open(FilePath(path), .writeOnly, options: .closeOnExec).close()
            return .allowed
        } catch Errno.noSuchFileOrDirectory { return .missing } catch { return .refused }
    }
}
