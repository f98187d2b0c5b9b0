internal import CLinuxTimers
internal import Glibc
internal import Synchronization

/// Facts about this process.
package enum Process {
    /// The process id; another one after a fork. Remembered, because the system calls of a schedule and its cancel would
    /// take half as long again as all the rest of them.
    package static var id: Int32 {
        let known = unsafe knownID?.pointee.load(ordering: .relaxed) ?? 0
        return known != 0 ? known : findOutID()
    }

    /// The id, or 0 while it is not known. On a page that the kernel clears in a forked child (MADV_WIPEONFORK of
    /// madvise(2)), however the child was forked. Nil if the kernel cannot do that: then nothing is remembered.
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
