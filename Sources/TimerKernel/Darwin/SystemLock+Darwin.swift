#if canImport(Darwin) || KQUEUE
internal import CTimerKernel

/// The part of a ``Mutex`` that differs from system to system. A Mac has no lock of the kernel that lends priorities
/// but the one in a pthread mutex.
@safe struct SystemLock: ~Copyable, Sendable {
    // Allocated before the first use and freed after the last one.
    private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        unsafe mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        unsafe pthread_mutexattr_setprotocol(&attributes, CInt(PTHREAD_PRIO_INHERIT))
        let failure = unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
        precondition(failure == 0, "this system has no priority-inheriting mutexes (errno \(failure))")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Takes the lock if it is free.
    func claim() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    /// Takes a lock that ``claim()`` has found taken.
    func wait() {
        if unsafe pthread_mutex_lock(mutex) != 0 { fatalError("a lock is taken twice on one thread") }
    }

    func release() { unsafe pthread_mutex_unlock(mutex) }
}
#endif
