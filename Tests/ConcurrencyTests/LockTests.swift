// The library's lock: under contention, how a thread waits for it, and the priority that the waiting thread lends.
import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// The thread sanitizer runs these, too, and knows the lock only by its operations on the word: it reports the account
/// below if these do not order the memory of one holder and the next.
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

    /// A long hold takes longer than another thread tries for, so the others wait in the kernel, which hands the lock
    /// on.
    @Test(arguments: [false, true])
    func oneThreadAtATimeIsInsideAndSeesWhatTheFormerWrote(isLong: Bool) async throws {
        let account = Lock(Account())
        let rounds = isLong ? Effort.of(20, thorough: 200) : Effort.of(20_000, thorough: 400_000)
        try await race(4, rounds) { _, _ in
            account.withLock {
                $0.add()
                if isLong { pause(.milliseconds(1)) }
            }
        }
        let end = account.withLock { $0 }
        #expect(end.count == 4 * rounds && end.overlaps == 0, "\(end)")
    }
}

/// How a thread waits for a lock.
@Suite(.waits("a thread yields to another")) struct LockWaitTests {
    @Test(arguments: [false, true])
    func onlyAnOrdinaryThreadYieldsAndIsAskedForItsPolicyAfterThreePauses(isRealTime: Bool) {
        let pauses: [LockWait.Step] = [.pause(64), .pause(128), .pause(256)]
        let round = pauses + (isRealTime ? [] : [.yield])
        var (wait, steps, asked) = (LockWait(), [LockWait.Step](), [Int]())
        func answer() -> Bool {
            asked.append(steps.count)
            return isRealTime
        }
        while steps.last != .wait, steps.count < 100 { steps.append(wait.next(answer())) }
        #expect(steps == round + round + round + round + [.wait])
        #expect(asked.first == 3)
    }
}

/// A real-time thread that waits for a lock lends its priority to the thread that holds it.
@Suite(.waits("the kernel lends a priority"), .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
struct PriorityTests {
    @Test func theHolderOfALockInheritsThePriorityOfAWaitingThread() throws {
        let (lock, isHeld, isOver) = (Lock(0), Box<Int32>(), Box<Bool>())
        try TimerKernel.Thread.start("test.holder") {
            lock.withLock { _ in
                isHeld.value = ProcFS.callingThread
                while isOver.value == nil { usleep(200) }
            }
        }
        #expect(eventually { isHeld.value != nil })
        let holder = try #require(isHeld.value)
        #expect(Self.priority(of: holder).map { $0 > 0 } == true, "an ordinary thread")
        try Self.start(priority: 10) { lock.withLock { $0 += 1 } }
        // proc_pid_stat(5) shows real-time priorities as -2 to -100.
        #expect(eventually { Self.priority(of: holder) == -11 })
        isOver.value = true
        #expect(eventually { lock.withLock { $0 } == 1 })
    }

    /// Starts a real-time thread on one processor.
    private static func start(priority: Int, _ body: @escaping @Sendable () -> Void) throws {
        try TimerKernel.Thread.start("test.priority") {
            let one = Set(ProcFS.processors.prefix(1))
            let options = TimerService.ThreadOptions(policy: .fifo(priority: priority), affinity: one)
            let grant = try? options.applyToCallingThread()
            #expect(grant?.refusals == [])
            body()
        }
    }

    private static func priority(of thread: Int32) -> Int? {
        let stat = try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
        // The fields after the name, which is in parentheses.
        return stat?.split(separator: ")").last.flatMap { Int($0.split(separator: " ")[15]) }
    }
}
