internal import CTimerKernel
internal import Synchronization

/// The steps of a priority-inheriting lock on a word that the kernel knows, too (FUTEX_LOCK_PI of futex(2)).
///
/// The word is 0 if the lock is free, and otherwise the number of the thread that holds it. Threads that do not contend
/// make no system call. Before a thread waits, the kernel adds the bit `waiters`. From then on it lends the holder the
/// priority of the waiting threads, and only the kernel can release the lock: it writes the next holder's number.
///
/// It is not glibc's mutex, with which two threads that take turns at a service get about a tenth less done. That one
/// also takes some refusals of a sandbox for the lock (ENOSYS), and others for its release (EPERM).
///
/// The steps know neither the word nor the kernel, so that `LockOrderTests` takes every order of these very steps.
package protocol LockSteps: ~Copyable {
    /// `Never`, except in a model, which stops before each step.
    associatedtype Failure: Error
    /// The number of the calling thread.
    var thread: UInt32 { get }
    /// The word. This orders no other memory.
    func read() throws(Failure) -> UInt32
    /// Changes 0 to the calling thread's number. If this succeeds, the thread sees what earlier holders wrote.
    func claim() throws(Failure) -> Bool
    /// Changes the holder's number to 0. If this succeeds, the next holder sees what this thread wrote.
    func free(_ holder: UInt32) throws(Failure) -> Bool
    /// These two order the memory of a holder and the next one if the kernel hands the lock over: neither the language
    /// nor the thread sanitizer knows the kernel's steps. They write `waiters` again, and read the word.
    func publish() throws(Failure)
    func observe() throws(Failure) -> UInt32
    /// FUTEX_LOCK_PI and FUTEX_UNLOCK_PI, which return 0 or the error.
    func lockInKernel() throws(Failure) -> CInt
    func unlockInKernel() throws(Failure) -> CInt
    func sleep() throws(Failure)
    func stop(_ reason: LockAnswer) throws(Failure) -> Never
}

/// What an answer of the kernel means.
package enum LockAnswer: String, Sendable {
    case done
    case later = "the kernel does not release a lock for which other threads wait"
    case takenTwice = "a lock is taken twice on one thread, or threads wait for each other's locks in a circle"
    case ownerEnded = "a thread ended while it held a lock"

    /// The answer to a thread that waits. After `later` it sleeps and tries again, however often. So the lock works,
    /// without inheritance, if the kernel does not have the call (ENOSYS) or the memory for it (ENOMEM), or if a
    /// sandbox forbids it (EPERM, or any other number). A signal (EINTR) and a holder that is ending (EAGAIN) pass.
    package init(toLocking error: CInt) {
        switch error {
        case 0: self = .done
        case EDEADLK: self = .takenTwice
        case ESRCH, EOWNERDEAD: self = .ownerEnded
        default: self = .later
        }
    }
}

private let waiters: UInt32 = 0x8000_0000
private let ownerDied: UInt32 = 0x4000_0000

extension LockSteps where Self: ~Copyable {
    /// Takes a lock that ``claim()`` has found taken.
    package func wait() throws(Failure) {
        // A kernel that refuses the call cannot say so.
        if try read() & ~(waiters | ownerDied) == thread { try stop(.takenTwice) }
        while true {
            switch LockAnswer(toLocking: try lockInKernel()) {
            case .done:
                if try observe() & ownerDied != 0 { try stop(.ownerEnded) }
                return
            case .later:
                try sleep()
                if try claim() { return }
            case let reason: try stop(reason)
            }
        }
    }

    @inline(__always) package func release() throws(Failure) {
        let word = try read()
        if word & (waiters | ownerDied) == 0, try free(word) { return }
        try handOver()
    }

    // Never inlined, because it asks for the thread's number: see `Mutex.acquire`.
    @inline(never) private func handOver() throws(Failure) {
        try publish()
        for _ in 0..<1_000 {
            let error = try unlockInKernel()
            if error == 0 { return }
            // A signal handler may fork during a hold, and return in the child. The lock is then the parent's, and the
            // child cannot take it anyway. A sandbox may answer EPERM, too, to a thread that does hold the lock.
            if error == EPERM, try read() & ~(waiters | ownerDied) != thread { return }
            try sleep()
        }
        // The other threads sleep in the kernel, and no other call wakes them.
        try stop(.later)
    }
}

/// The steps of a ``Mutex`` on a word of memory.
@safe struct SystemLock: LockSteps, ~Copyable, Sendable {
    // Allocated before the first use and freed after the last one.
    private nonisolated(unsafe) let word = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 1)
    private nonisolated(unsafe) let page = unsafe Process.page

    init() { unsafe word.initialize(to: Atomic(0)) }
    deinit { unsafe word.deallocate() }

    var thread: UInt32 { unsafe thread_number(page?.pointee.load(ordering: .relaxed) ?? 0) }
    func read() -> UInt32 { unsafe word.pointee.load(ordering: .relaxed) }
    func observe() -> UInt32 { unsafe word.pointee.load(ordering: .acquiring) }
    func publish() { unsafe word.pointee.bitwiseOr(waiters, ordering: .releasing) }
    func claim() -> Bool {
        unsafe word.pointee.compareExchange(expected: 0, desired: thread, ordering: .acquiring).exchanged
    }
    func free(_ holder: UInt32) -> Bool {
        unsafe word.pointee.compareExchange(expected: holder, desired: 0, ordering: .releasing).exchanged
    }
    func lockInKernel() -> CInt { unsafe futex_lock(word) }
    func unlockInKernel() -> CInt { unsafe futex_unlock(word) }
    func sleep() { KernelClock.sleep(for: .microseconds(100)) }
    func stop(_ reason: LockAnswer) -> Never { fatalError(reason.rawValue) }
}
