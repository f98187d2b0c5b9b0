internal import CLinuxTimers
internal import Glibc

/// A mutual exclusion lock.
///
/// It is priority-inheriting: while a real-time thread waits for it, its holder runs with that thread's priority. If
/// threads wait for such a lock, system calls hand it over. This takes many times as long as a short critical
/// section, so that each contention causes the next one. For this reason a thread that finds the lock taken, even a
/// real-time thread, pauses and tries again for at most about a hundred microseconds before it waits.
///
/// It is a pthread mutex and not `Synchronization.Mutex`, because the thread sanitizer knows the former, and reports
/// false races on the latter under contention.
///
/// It is not recursive: taking it twice on one thread is a programming error, and traps.
@safe
package final class Mutex: Sendable {
    // Allocated before the first use and freed after the last one.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let processID = Process.id

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
    package var isOfAnotherProcess: Bool { Process.id != processID }

    /// Takes the lock. Until ``release()``, no code of the user may run, and no object of the user may be released.
    package func acquire() {
        if unsafe pthread_mutex_trylock(mutex) == 0 { return }
        for _ in 0..<Self.turns {
            var pauses = Self.firstPauses
            while pauses <= Self.lastPauses {
                for _ in 0..<pauses { processor_pause() }
                if unsafe pthread_mutex_trylock(mutex) == 0 { return }
                pauses *= 2
            }
            sched_yield()
        }
        let locked = unsafe pthread_mutex_lock(mutex)
        precondition(locked == 0, "the lock is taken twice on one thread")
    }

    /// Releases the lock.
    package func release() { unsafe pthread_mutex_unlock(mutex) }

    // A pause takes some tens of nanoseconds. The first pauses together take as long as several critical sections.
    // With shorter pauses, two threads that took the lock by turns did half as much work together as one thread alone,
    // because the memory that it protects moved back and forth between their processors.
    private static let firstPauses = 64
    private static let lastPauses = 256
    /// How often a thread yields the processor before it waits.
    private static let turns = 4
}
