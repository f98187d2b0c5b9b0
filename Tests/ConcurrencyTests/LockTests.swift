import Foundation
import TestSupport
import Testing
import TimerKernel

/// The library's lock under contention. The thread sanitizer runs these, too, and knows the lock only by its operations
/// on the word: it reports the account below if these do not order the memory of one holder and the next.
@Suite(.works("threads contend for a lock"), .timeLimit(.minutes(60))) struct LockTests {
    /// Not atomic on purpose: the lock must protect it.
    private struct Account {
        var (count, isInside, overlaps) = (0, false, 0)

        mutating func add() {
            if isInside { overlaps += 1 }
            isInside = true
            count += 1
            isInside = false
        }
    }

    @Test(arguments: [2, 4, 8])
    func oneThreadAtATimeIsInside(threads: Int) async throws {
        let (account, rounds) = (Lock(Account()), Effort.of(20_000, thorough: 400_000))
        try await onThreads(threads) { _ in for _ in 0..<rounds { account.withLock { $0.add() } } }
        #expect(account.withLock { $0.count } == threads * rounds)
        #expect(account.withLock { $0.overlaps } == 0)
    }

    /// Each hold takes longer than another thread tries for, so the others wait in the kernel, which hands the lock on.
    @Test func whatIsWrittenUnderALockThatTheKernelHandsOnIsSeen() async throws {
        let (account, rounds) = (Lock(Account()), Effort.of(20, thorough: 200))
        try await onThreads(4) { _ in
            for _ in 0..<rounds {
                account.withLock {
                    $0.add()
                    pause(.milliseconds(1))
                }
            }
        }
        #expect(account.withLock { $0.count } == 4 * rounds)
        #expect(account.withLock { $0.overlaps } == 0)
    }

    @Test func aLockThatIsTakenTwiceOnOneThreadEndsTheProcessWithTheReason() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = Mutex()
            mutex.acquire()
            mutex.acquire()
        }
        let text = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(text.contains("taken twice on one thread"), "\(text)")
    }
}
