internal import CTimerKernel
internal import Synchronization

/// A ``Mutex`` around the state that it protects.
///
/// It is `@unchecked Sendable` because only `withLock` touches `state`, while it holds the mutex. So no access
/// races, and only values that the region checker lets pass (`sending`) enter or leave.
@safe package final class Lock<State>: @unchecked Sendable {
    private let mutex = Mutex()
    private var state: State

    package init(_ state: sending State) { self.state = state }

    /// Whether this is a forked child of the process that made the lock.
    package var isOfAnotherProcess: Bool { mutex.isOfAnotherProcess }

    /// Runs `body` on the state while no other thread does. No code of the user may run inside, and no object of the
    /// user may be released.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        mutex.acquire()
        defer { mutex.release() }
        return try body(&state)
    }

    /// Runs `body` on the state. In a forked child, which cannot reach the state, returns `answer` instead.
    package func withLock<Result, Failure: Error>(
        inForkedChild answer: @autoclosure () throws(Failure) -> sending Result,
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        isOfAnotherProcess ? try answer() : try withLock(body)
    }
}

/// A mutual exclusion lock.
///
/// It is priority-inheriting: while a real-time thread waits for it, its holder runs with that thread's priority. If
/// threads wait for such a lock, system calls hand it over. This takes many times as long as a short critical
/// section, so that each contention causes the next one. For this reason a thread that finds the lock taken, even a
/// real-time thread, pauses and tries again for at most about a hundred microseconds before it waits (``LockWait``).
///
/// It is the library's own and not `Synchronization.Mutex`, on which the thread sanitizer reports false races under
/// contention, because a part of that one's steps is in a library without the sanitizer.
///
/// It is not recursive: taking it twice on one thread is a programming error, and ends the process.
@safe package final class Mutex: Sendable {
    private let lock = SystemLock()
    private let home = Process.generation
    /// Where the number of this process is. Kept here, because each hold of the lock asks for it.
    private nonisolated(unsafe) let page = unsafe Process.page

    package init() {}

    /// Whether this is a forked child of the process that made the lock. The child cannot take it: another thread of
    /// the parent may have held it at the fork.
    package var isOfAnotherProcess: Bool {
        // Relaxed, as in `Process`. In a forked child the number is 0 until it is asked for, and then another one.
        unsafe (page?.pointee.load(ordering: .relaxed) ?? Process.generation) != home
    }

    /// Takes the lock. Until ``release()``, no code of the user may run, and no object of the user may be released.
    ///
    /// Never inlined: in an async function, the compiler may keep a thread's number across a suspension.
    @inline(never) package func acquire() { if !lock.claim() { acquireLater() } }

    private func acquireLater() {
        var wait = LockWait()
        while true {
            switch wait.next(thread_is_real_time() == 1) {
            case .pause(let count): for _ in 0..<count { processor_pause() }
            case .yield: sched_yield()
            case .wait: return lock.wait()
            }
            if lock.claim() { return }
        }
    }

    /// Releases the lock.
    package func release() { lock.release() }
}

/// How a thread waits for a lock that another thread holds. A pure value: it tells the next step, and knows no lock.
package struct LockWait {
    /// What the thread does before it tries again.
    package enum Step: Hashable, Sendable {
        /// Pause the processor this many times.
        case pause(Int)
        /// Give the processor to another thread.
        case yield
        /// Let the kernel wait for the lock.
        case wait
    }

    // A pause takes ten to fifty nanoseconds. The first pauses together take as long as several critical sections.
    // With shorter pauses, two threads that took the lock by turns did half as much work together as one thread alone,
    // because the memory that it protects moved back and forth between their processors.
    private static var firstPauses: Int { 64 }
    private static var lastPauses: Int { 256 }

    /// How many rounds of pauses remain.
    private var rounds = 4
    private var pauses = Self.firstPauses

    package init() {}

    /// Decides on the next step.
    ///
    /// - Parameter isRealTime: whether the thread has a real-time policy. Such a thread never yields. With
    ///   SCHED_DEADLINE that would give away the rest of its period (sched_yield(2)), and with SCHED_FIFO only threads
    ///   of the same priority would run. Asked once for each round.
    /// - Returns: the step. After ``Step/wait`` there is no other.
    package mutating func next(_ isRealTime: @autoclosure () -> Bool) -> Step {
        while rounds > 0 {
            if pauses <= Self.lastPauses {
                defer { pauses *= 2 }
                return .pause(pauses)
            }
            (rounds, pauses) = (rounds - 1, Self.firstPauses)
            if !isRealTime() { return .yield }
        }
        return .wait
    }
}
