internal import CLinuxTimers
internal import Glibc
internal import Synchronization

/// Facts about this process.
package enum Process {
    /// The process id, which changes after a fork. It is remembered, because its system calls would add half to the
    /// cost of scheduling and cancelling a timer.
    package static var id: Int32 {
        let known = unsafe knownID?.pointee.load(ordering: .relaxed) ?? 0
        return known != 0 ? known : findOutID()
    }

    /// The id, or 0 while it is unknown. It is on a page that the kernel clears in a forked child (MADV_WIPEONFORK
    /// of madvise(2)), whatever call forked the child. Nil if the kernel cannot do this; then no id is remembered.
    private nonisolated(unsafe) static let knownID: UnsafeMutablePointer<Atomic<Int32>>? = {
        let id = unsafe page_cleared_by_fork()?.bindMemory(to: Atomic<Int32>.self, capacity: 1)
        unsafe id?.initialize(to: Atomic(0))
        return unsafe id
    }()

    private static func findOutID() -> Int32 {
        let id = getpid()
        unsafe knownID?.pointee.store(id, ordering: .relaxed)
        return id
    }
}
