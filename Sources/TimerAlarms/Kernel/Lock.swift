package import Glibc

/// A mutual exclusion lock around the state that it protects; priority-inheriting, so that a real-time thread waits
/// no longer than the critical section takes, whoever holds it.
///
/// A pthread mutex rather than `Synchronization.Mutex`, because the thread sanitizer knows the former and reports
/// false races on the latter under contention.
///
/// Not recursive: taking it twice on one thread is a programming error, and traps.
///
/// Why this is `@unchecked Sendable`: `state` is touched in `withLock` only, between a successful lock and its unlock;
/// `mutex` points to memory that is allocated before and freed after every use. So no access races, and only values
/// that the region checker lets pass (`sending`) enter or leave.
@safe
package final class Lock<State>: @unchecked Sendable {
    @usableFromInline var state: State
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ state: sending State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe Self.initialize(mutex)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    // Inlined, so that each use is compiled for its own state and not left generic.
    /// Runs `body` on the state while no other thread does. Nothing of a user's may be called or released inside.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let locked = unsafe pthread_mutex_lock(mutex)
        precondition(locked == 0, "the lock is taken twice on one thread")
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    private static func initialize(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        unsafe pthread_mutexattr_setprotocol(&attributes, CInt(PTHREAD_PRIO_INHERIT))
        let failure = unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
        precondition(failure == 0, "this kernel has no priority-inheriting futexes (errno \(failure))")
    }
}
