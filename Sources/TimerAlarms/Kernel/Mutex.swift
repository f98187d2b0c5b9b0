internal import CLinuxTimers
internal import Glibc

/// A mutual exclusion lock.
///
/// It is priority-inheriting: while a real-time thread waits for it, its holder runs with that thread's priority. If
/// threads wait for such a lock, system calls hand it over. This takes many times as long as a short critical
/// section, so that each contention causes the next one. For this reason a thread that finds the lock taken, even a
/// real-time thread, pauses and tries again for at most about a hundred microseconds before it waits (``Backoff``).
///
/// It is a pthread mutex and not `Synchronization.Mutex`, because the thread sanitizer knows the former, and reports
/// false races on the latter under contention.
///
/// It is not recursive: taking it twice on one thread is a programming error, and traps.
@safe
package final class Mutex: Sendable {
    // Allocated before the first use and freed after the last one.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let home = Process.generation

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        unsafe pthread_mutexattr_setprotocol(&attributes, CInt(PTHREAD_PRIO_INHERIT))
        let failure = unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
        precondition(failure == 0, "this kernel has no priority-inheriting futexes (errno \(failure))")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Whether this is a forked child of the process that made the lock. The child cannot take it: another thread of
    /// the parent may have held it at the fork.
    package var isOfAnotherProcess: Bool { Process.generation != home }

    /// Takes the lock. Until ``release()``, no code of the user may run, and no object of the user may be released.
    package func acquire() {
        if unsafe pthread_mutex_trylock(mutex) == 0 { return }
        var backoff = Backoff()
        while true {
            switch backoff.next(thread_is_real_time() == 1) {
            case .pause(let count): for _ in 0..<count { processor_pause() }
            case .yield: sched_yield()
            case .wait:
                let locked = unsafe pthread_mutex_lock(mutex)
                return precondition(locked == 0, "the lock is taken twice on one thread")
            }
            if unsafe pthread_mutex_trylock(mutex) == 0 { return }
        }
    }

    /// Releases the lock.
    package func release() { unsafe pthread_mutex_unlock(mutex) }
}
