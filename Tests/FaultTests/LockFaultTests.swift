#if os(Linux) && !KQUEUE
import Foundation
import Glibc
import TestSupport
import Testing
import TimerKernel

/// The lock on a kernel that refuses, in a forked child, and after the end of a thread that held it.
@Suite(.waits("threads contend for a lock whose calls are refused"), .timeLimit(.minutes(60))) struct LockFaultTests {
    // MARK: What each error means

    @Test(arguments: [EINTR, EAGAIN, ENOSYS, ENOMEM, EPERM, EACCES, EINVAL, EFAULT, ETIMEDOUT])
    func aRefusedWaitIsTriedAgain(error: CInt) {
        #expect(LockAnswer(toLocking: error) == .later)
    }

    @Test func theAnswersThatEndAWaitAreKnown() {
        #expect(LockAnswer(toLocking: 0) == .done)
        #expect(LockAnswer(toLocking: EDEADLK) == .takenTwice)
        #expect(LockAnswer(toLocking: ESRCH) == .ownerEnded)
        #expect(LockAnswer(toLocking: EOWNERDEAD) == .ownerEnded)
    }

    @Test func aReleaseIsOverIfTheKernelHasMadeItOrTheLockIsNotThisThreads() {
        #expect([0, EPERM].map { LockAnswer(toUnlocking: $0) } == [.done, .done])
        for error in [EINTR, EAGAIN, ENOSYS, EINVAL, EFAULT, ENOMEM] {
            #expect(LockAnswer(toUnlocking: error) == .later)
        }
    }

    // MARK: A sandbox that refuses

    #if compiler(>=6.3)
    @Test(arguments: [ENOSYS, EPERM, ENOMEM, EAGAIN, EINTR])
    func aLockWorksIfTheKernelRefusesEachWait(error: CInt) async {
        await #expect(processExitsWith: .success) { [error] in
            Fault.endIfHung()
            try #require(Sandbox.refuse(futex: Sandbox.lock, error))
            let count = Lock(0)
            try onThreads(4) { _ in
                for _ in 0..<20 {
                    count.withLock {
                        $0 += 1
                        pause(.milliseconds(1))
                    }
                }
            }
            #expect(count.withLock { $0 } == 80)
        }
    }
    #endif

    @Test func aLockThatIsTakenTwiceEndsTheProcessAlsoIfTheKernelRefusesTheWait() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Fault.endIfHung()
            try #require(Sandbox.refuse(futex: Sandbox.lock, ENOSYS))
            let mutex = Mutex()
            mutex.acquire()
            mutex.acquire()
        }
        expect(result, says: "taken twice on one thread")
    }

    /// Only the holder's thread is in the sandbox, so another thread can wait.
    @Test func aKernelThatNeverReleasesALockEndsTheProcessWithTheReason() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Fault.endIfHung()
            let (lock, isHeld) = (Lock(0), Box<Bool>())
            try TimerKernel.Thread.start("test.holder") {
                guard Sandbox.refuse(futex: Sandbox.unlock, ENOSYS) else { return }
                lock.withLock { _ in
                    isHeld.value = true
                    pause(.milliseconds(50))
                }
            }
            #expect(eventually { isHeld.value == true })
            lock.withLock { $0 += 1 }
        }
        expect(result, says: "the kernel does not release a lock")
    }

    // MARK: A thread that ends

    @Test func theEndOfAThreadWithALockForWhichAnotherWaitsEndsTheProcessWithTheReason() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Fault.endIfHung()
            try takeTheLock(ofAThreadThatEndsAfter: .milliseconds(50))
        }
        expect(result, says: "a thread ended while it held a lock")
    }

    @Test func aWaitForAThreadThatHasEndedEndsTheProcessWithTheReason() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Fault.endIfHung()
            try takeTheLock(ofAThreadThatEndsAfter: .zero)
        }
        expect(result, says: "a thread ended while it held a lock")
    }

    private func expect(_ result: ExitTest.Result?, says reason: String) {
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(text.contains(reason), "\(text)")
    }

    // MARK: A forked child

    #if compiler(>=6.3)
    /// The thread that forks has another number in the child. With the old one, the kernel would take a thread of the
    /// parent for the holder, and refuse the release.
    @Test(arguments: ForkTests.kinds)
    func threadsOfAForkedChildContendForALockOfItsOwn(kind: String) async {
        await #expect(processExitsWith: .success) { [kind] in
            Fault.endIfHung()
            let parents = Lock(0)
            parents.withLock { $0 += 1 }
            let code = Fork.outcome(by: kind) {
                let (lock, isWaiting) = (Lock(0), Box<Bool>())
                let isStarted: Void? = lock.withLock { _ in
                    let start: Void? = try? TimerKernel.Thread.start("test.waiter") {
                        isWaiting.value = true
                        lock.withLock { $0 += 1 }
                    }
                    while isWaiting.value == nil { usleep(100) }
                    usleep(20_000)
                    return start
                }
                if isStarted == nil { return 1 }
                return eventually { lock.withLock { $0 } == 1 } ? 0 : 2
            }
            #expect(code == 0)
            #expect(parents.withLock { $0 } == 1)
        }
    }
    #endif
}

/// Takes a lock with which another thread ends after a while.
private func takeTheLock(ofAThreadThatEndsAfter time: Duration) throws {
    let (mutex, thread) = (Mutex(), Box<Int32>())
    try TimerKernel.Thread.start("test.ends") {
        mutex.acquire()
        thread.value = ProcFS.callingThread
        pause(time)
        TimerKernel.Thread.end()
    }
    #expect(eventually { thread.value != nil })
    if time == .zero, let number = thread.value {
        #expect(eventually { !FileManager.default.fileExists(atPath: "/proc/self/task/\(number)") })
    }
    mutex.acquire()
}

/// A filter of system calls for the calling thread, and for threads that it starts later (seccomp(2)).
private enum Sandbox {
    #if arch(x86_64)
    private static let call: UInt64 = 202
    #else
    private static let call: UInt64 = 98
    #endif
    /// FUTEX_LOCK_PI and FUTEX_UNLOCK_PI.
    static let lock: UInt64 = 6
    static let unlock: UInt64 = 7

    /// Lets the kernel refuse one operation of futex(2) with an error. Returns whether it does from now on.
    static func refuse(futex operation: UInt64, _ error: CInt) -> Bool {
        // Instructions of the classic BPF: a code, two distances to jump, and a number.
        func instruction(_ code: UInt64, _ number: UInt64, otherwise distance: UInt64 = 0) -> UInt64 {
            code | distance << 24 | number << 32
        }
        let filter = [
            // The number of the call.
            instruction(0x20, 0), instruction(0x15, call, otherwise: 4),
            // The lower half of its second argument, without the flags.
            instruction(0x20, 24), instruction(0x54, 0x7f), instruction(0x15, operation, otherwise: 1),
            // The answer: SECCOMP_RET_ERRNO or SECCOMP_RET_ALLOW.
            instruction(0x06, 0x5_0000 | UInt64(error)), instruction(0x06, 0x7fff_0000),
        ]
        // Glibc's functions have variable arguments, which integers are passed to as to any others.
        typealias Call = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int
        guard let control = unsafe dlsym(nil, "prctl"), let system = unsafe dlsym(nil, "syscall") else { return false }
        let (prctl, syscall) = unsafe (unsafeBitCast(control, to: Call.self), unsafeBitCast(system, to: Call.self))
        let (noNewPrivileges, setFilter) = (38, 22)
        unsafe filter.withUnsafeBufferPointer { filter in
            var program = (filter.count, Int(bitPattern: filter.baseAddress))
            unsafe withUnsafePointer(to: &program) { program in
                _ = prctl(noNewPrivileges, 1, 0, 0, 0, 0, 0)
                _ = prctl(setFilter, 2, Int(bitPattern: program), 0, 0, 0, 0)
            }
        }
        var word: UInt64 = 0
        return unsafe withUnsafeMutablePointer(to: &word) { word in
            syscall(Int(call), Int(bitPattern: word), Int(operation), 0, 0, 0, 0) == -1 && errno == error
        }
    }
}
#endif
