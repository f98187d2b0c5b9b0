internal import CTimerKernel
internal import Synchronization

/// Tells this process from the processes that it was forked from.
package enum Process {
    /// The number of this process in its line of forks: a child's number is greater than its parent's. It is not the
    /// process id, which parent and child share if each is the first process of a namespace. A vfork(2) makes no new
    /// number, because it makes no new memory.
    package static var generation: UInt {
        // Relaxed: the number orders no other memory, and every thread that finds 0 finds the same number.
        let known = unsafe page?.pointee.load(ordering: .relaxed) ?? 0
        return known != 0 ? known : findOut()
    }

    /// The number, or 0 while it is unknown. It is on a page that the kernel clears in a forked child (MADV_WIPEONFORK
    /// of madvise(2)), whatever call forked the child. Nil if the kernel cannot do this: a Mac, and Linux before 4.14.
    nonisolated(unsafe) static let page: UnsafeMutablePointer<Atomic<UInt>>? = {
        let number = unsafe page_cleared_by_fork()?.bindMemory(to: Atomic<UInt>.self, capacity: 1)
        unsafe number?.initialize(to: Atomic(0))
        return unsafe number
    }()

    /// The greatest number that was taken here and before the last fork: a child has a copy of it. It guards no memory.
    /// The exchange on the page follows it, for every thread, because both are sequentially consistent.
    private static let taken = Atomic<UInt>(0)

    private static func findOut() -> UInt {
        guard let page = unsafe page else { return UInt(getpid()) }
        // Counted first: a fork between these lines cannot give the same number to the child.
        let new = taken.add(1, ordering: .sequentiallyConsistent).newValue
        let (isFirst, former) = unsafe page.pointee.compareExchange(
            expected: 0,
            desired: new,
            ordering: .sequentiallyConsistent
        )
        return isFirst ? new : former
    }
}
