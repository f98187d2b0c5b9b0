internal import CTimerKernel

/// The system's own mutex. It lends priorities (PTHREAD_PRIO_INHERIT), unless the kernel or a filter of system calls
/// refuses that. It tells a thread that it holds the mutex already (PTHREAD_MUTEX_ERRORCHECK).
///
/// A filter (seccomp(2)) may refuse the kernel's part at any time, and to single threads. glibc takes most refusals
/// of a wait for the lock, and aborts at the others; it takes most refusals to hand the lock on for success. So the
/// kernel is asked before it must wait, and the word is read after it must have handed the lock on.
@safe struct SystemLock: ~Copyable, Sendable {
    /// Whether the kernel lends priorities, at the first lock of the process.
    private static let lends = kernel_lends_priorities() == 1

    // Allocated before the first use and freed after the last one.
    private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        unsafe mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        unsafe pthread_mutexattr_setprotocol(&attributes, CInt(Self.lends ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE))
        let failure = unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
        precondition(failure == 0, "this system has no such mutex (errno \(failure))")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Takes the lock if it is free.
    func claim() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    /// Takes a lock that ``claim()`` has found taken.
    func wait() {
        let isRefused = Self.lends && kernel_lends_priorities() == 0
        let failure = isRefused ? poll() : unsafe pthread_mutex_lock(mutex)
        if failure == EDEADLK { fatalError("a lock is taken twice on one thread") }
        if failure != 0 { fatalError("a lock cannot be taken (errno \(failure))") }
    }

    /// Takes the lock without the kernel's help, however long that takes. Returns 0 or the error.
    private func poll() -> CInt {
        while true {
            let failure = unsafe pthread_mutex_trylock(mutex)
            if failure != EBUSY { return failure }
            KernelClock.sleep(for: .microseconds(100))
        }
    }

    /// Releases the lock. Returns 0 or the error: EBUSY if the kernel does not hand it on to a waiting thread.
    func release() -> CInt { unsafe mutex_unlock(mutex) }
}
