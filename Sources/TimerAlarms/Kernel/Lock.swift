package import Glibc

/// A mutual exclusion lock around the state that it protects.
///
/// It is priority-inheriting: a real-time thread waits no longer than the critical section takes, whoever holds it. Such
/// a lock is handed over by system calls if two threads meet at it. That takes fifty times as long as a short critical
/// section, so a thread that finds it taken tries again for a while (some microseconds) before it waits.
///
/// A pthread mutex rather than `Synchronization.Mutex`, because the thread sanitizer knows the former and reports
/// false races on the latter under contention.
///
/// In a forked child the state cannot be reached: another thread of the parent may have held the lock at the fork. Whoever
/// uses the lock says what a child gets instead.
///
/// Not recursive: taking it twice on one thread is a programming error, and traps.
///
/// Why this is `@unchecked Sendable`: `state` is touched in `withLock` only, between a successful lock and its unlock; both
/// pointers point to memory that is allocated before and freed after every use. So no access races, and only values that
/// the region checker lets pass (`sending`) enter or leave.
@safe
package final class Lock<State: ~Copyable>: @unchecked Sendable {
    // Behind a pointer, so that an access to it needs no check for exclusivity at run time: the lock is that.
    @usableFromInline let state: UnsafeMutablePointer<State>
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let processID = Process.id

    package init(_ state: consuming sending State) {
        unsafe self.state = .allocate(capacity: 1)
        unsafe self.state.initialize(to: state)
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe Self.initialize(mutex)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Whether this is a forked child of the process that made the lock.
    package var isOfAnotherProcess: Bool { Process.id != processID }

    // Inlined, so that each use is compiled for its own state and not left generic.
    /// Runs `body` on the state while no other thread does. Nothing of a user's may be called or released inside.
    @inlinable @inline(__always)
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        acquire()
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&state.pointee)
    }

    /// The same, or a value to answer with in a forked child.
    @inlinable @inline(__always)
    package func withLock<Result: ~Copyable, Failure: Error>(
        inForkedChild answer: @autoclosure () throws(Failure) -> sending Result,
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        if isOfAnotherProcess { return try answer() }
        return try withLock(body)
    }

    @usableFromInline func acquire() {
        for _ in 0..<300 where unsafe pthread_mutex_trylock(mutex) == 0 { return }
        let locked = unsafe pthread_mutex_lock(mutex)
        precondition(locked == 0, "the lock is taken twice on one thread")
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
