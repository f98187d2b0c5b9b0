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
    /// of madvise(2)), whatever call forked the child; a handler of fork(3) does the same, in case a restore from a
    /// checkpoint has lost the kernel's part. Nil if the kernel cannot do this: Linux before 4.14.
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
        let (isFirst, previous) = unsafe page.pointee.compareExchange(
            expected: 0,
            desired: new,
            ordering: .sequentiallyConsistent
        )
        return isFirst ? new : previous
    }
}

/// Starts threads that disturb the host process as little as possible.
package enum Thread {
    /// Starts a detached thread with a name. All its signals are blocked but those for its own faults, and the
    /// process's exit does not wait for it.
    ///
    /// The thread gets the affinity and the nice value of the main thread, not those of its creator. It also gets
    /// the main thread's policy, unless that is a real-time policy. Without CAP_SYS_NICE the kernel may refuse a
    /// better nice value than the creator's; the thread then keeps the creator's value.
    ///
    /// - Parameters:
    ///   - name: the thread's name in the kernel, at most 15 bytes.
    ///   - body: the work of the thread.
    /// - Throws: `TimerError` if the system refuses the thread.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(TimerError) {
        // A thread inherits its creator's signal mask, so it starts with these signals blocked. Signals for its own
        // faults stay unblocked: if they are blocked, the kernel ends the process without calling a crash reporter.
        var blocked = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&blocked)
        for fault in [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] { unsafe sigdelset(&blocked, fault) }
        unsafe pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

        let start = unsafe Unmanaged.passRetained(Start(name, body))
        let failure = unsafe thread_create({ unsafe Thread.run($0) }, start.toOpaque())
        if failure != 0 {
            unsafe start.release()
            throw Errno(failure).error(attempting: "starting the thread \(name)")
        }
    }

    /// Ends the calling thread if this is a forked child of the process with this generation. A thread of the library
    /// calls it after each call of the user's code: the code may have forked, and have returned in the child, too.
    ///
    /// There, the thread is the only one, and goes on with the parent's descriptors. It must not use them, nor return
    /// into a loop that does. So it ends at once. If the child has no other thread by then, it ends with code 0, and
    /// runs no exit handlers, which belong to the parent.
    package static func leaveForkedChild(of generation: UInt) {
        if Process.generation != generation { end() }
    }

    /// Ends the calling thread, and nothing else.
    package static func end() { thread_end() }

    /// The processor time of the calling thread in nanoseconds; nil if the system refuses to tell it.
    package static var processorTime: UInt64? {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return nil }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// How many times the calling thread has given its processor away to wait; nil if the system does not tell.
    package static var sleeps: Int? {
        let count = thread_sleeps()
        return count < 0 ? nil : count
    }

    private static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument = unsafe argument else { return nil }
        let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        _ = unsafe start.name.withCString { unsafe thread_name_set($0) }
        // A new thread starts with its creator's values (pthread_create(3)).
        thread_resemble_main()
        let home = Process.generation
        start.body()
        leaveForkedChild(of: home)
        return nil
    }

    /// The argument of a new thread.
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

/// The thread that the process began with.
package enum MainThread {
    /// Whether it has a real-time policy, as in a program that chrt(1) has started.
    package static var isRealTime: Bool { main_is_real_time() != 0 }
}

/// The identity of a thread of this process.
package struct ThreadID: Hashable, Sendable {
    package let number: UInt

    /// The calling thread.
    package static var current: ThreadID { ThreadID(number: UInt(thread_identity())) }
}
