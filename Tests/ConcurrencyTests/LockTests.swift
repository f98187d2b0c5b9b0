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
    @Test(arguments: [(2, false), (4, false), (8, false), (4, true)])
    func oneThreadAtATimeIsInsideAndSeesWhatTheFormerWrote(threads: Int, isLong: Bool) async throws {
        let account = Lock(Account())
        let rounds = isLong ? Effort.of(20, thorough: 200) : Effort.of(20_000, thorough: 400_000)
        try await race(threads, rounds) { _, _ in
            account.withLock {
                $0.add()
                if isLong { pause(.milliseconds(1)) }
            }
        }
        let end = account.withLock { $0 }
        #expect(end.count == threads * rounds && end.overlaps == 0, "\(end)")
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

/// How a thread waits for a lock.
@Suite(.waits("a thread yields to another")) struct LockWaitTests {
    /// The steps until the thread waits, and how often it was asked for its policy during the first four.
    private func steps(isRealTime: Bool) -> ([LockWait.Step], [Int]) {
        var (backoff, steps, asked, questions) = (LockWait(), [LockWait.Step](), 0, [Int]())
        func answer() -> Bool {
            asked += 1
            return isRealTime
        }
        while steps.last != .wait, steps.count < 100 {
            steps.append(backoff.next(answer()))
            if steps.count <= 4 { questions.append(asked) }
        }
        return (steps, questions)
    }

    @Test(arguments: [false, true])
    func onlyAnOrdinaryThreadYieldsAndIsAskedForItsPolicyAfterThreePauses(isRealTime: Bool) {
        let pauses: [LockWait.Step] = [.pause(64), .pause(128), .pause(256)]
        let round = pauses + (isRealTime ? [] : [.yield])
        let (steps, questions) = steps(isRealTime: isRealTime)
        #expect(steps == round + round + round + round + [.wait])
        #expect(questions == [0, 0, 0, 1])
    }
}

/// A real-time thread that waits for a lock lends its priority to the thread that holds it.
@Suite(.waits("the kernel lends a priority"), .enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
struct PriorityTests {
    @Test func theHolderOfALockInheritsThePriorityOfAWaitingThread() throws {
        let (lock, isHeld, isOver) = (Lock(0), Box<Int32>(), Box<Bool>())
        try TimerKernel.Thread.start("test.holder") {
            lock.withLock { _ in
                isHeld.value = Self.thread
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

    /// Without inheritance, the second thread would keep the first from running, and so the third from getting the
    /// lock, for as long as it likes (the inversion of priorities that stopped Mars Pathfinder).
    @Test func aThreadOfMiddlePriorityCannotKeepTheHolderFromReleasingTheLock() throws {
        let (lock, isHeld, isTrying, hasLock) = (Lock(0), Box<Bool>(), Box<Bool>(), Box<Bool>())
        let gaveUp = Box<Bool>()
        try Self.start(priority: 1) {
            lock.withLock { _ in
                isHeld.value = true
                while isTrying.value == nil { usleep(200) }
                Self.work(for: .milliseconds(2)) { false }
            }
        }
        #expect(eventually { isHeld.value == true })
        try Self.start(priority: 5) {
            while isTrying.value == nil { usleep(200) }
            Self.work(for: .milliseconds(500)) { hasLock.value == true }
            gaveUp.value = hasLock.value == nil
        }
        try Self.start(priority: 10) {
            isTrying.value = true
            lock.withLock { $0 += 1 }
            hasLock.value = true
        }
        #expect(eventually { hasLock.value == true && gaveUp.value != nil })
        #expect(gaveUp.value == false)
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

    /// Uses up processor time, until a condition holds.
    private static func work(for limit: Duration, until isOver: () -> Bool) {
        let start = Reading.threadSeconds
        while Reading.threadSeconds - start < limit / .seconds(1), !isOver() {}
    }

    private static var thread: Int32 {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        return link.flatMap { Int32($0.split(separator: "/").last ?? "") } ?? 0
    }

    private static func priority(of thread: Int32) -> Int? {
        let stat = try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
        // The fields after the name, which is in parentheses.
        return stat?.split(separator: ")").last.flatMap { Int($0.split(separator: " ")[15]) }
    }
}
