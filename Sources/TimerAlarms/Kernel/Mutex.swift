internal import CLinuxTimers
internal import Glibc

/// A mutual exclusion lock.
///
/// It is priority-inheriting: while a real-time thread waits for it, its holder runs with that thread's priority. Such a
/// lock is handed over by system calls if threads wait for it, which takes many times as long as a short critical
/// section, and then each meeting leads to the next. So a thread that finds it taken, also a real-time one, pauses and
/// tries again for about a hundred microseconds at most before it waits.
///
/// A pthread mutex rather than `Synchronization.Mutex`, because the thread sanitizer knows the former and reports
/// false races on the latter under contention.
///
/// Not recursive: taking it twice on one thread is a programming error, and traps.
@safe
package final class Mutex: Sendable {
    // Allocated before and freed after every use.
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

    /// Whether this is a forked child of the process that made the lock. There it cannot be taken: another thread of the
    /// parent may have held it at the fork.
    package var isOfAnotherProcess: Bool { Process.id != processID }

    /// Takes the lock. Nothing of a user's may be called or released until ``release()``.
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

    /// Gives it back.
    package func release() { unsafe pthread_mutex_unlock(mutex) }

    // A pause takes some tens of nanoseconds. The first are as many as several critical sections take: two threads that
    // took the lock by turns got half as much done together as one alone, because the memory that it protects went to and
    // fro between their processors.
    private static let firstPauses = 64
    private static let lastPauses = 256
    /// How often a thread lets others run before it waits.
    private static let turns = 4
}
