#if os(Linux) && !KQUEUE
import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// A real-time thread that waits for a lock lends its priority to the thread that holds it.
@Suite(.waits("the kernel lends a priority")) struct PriorityTests {
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func theHolderOfALockInheritsThePriorityOfAWaitingThread() throws {
        let (lock, isHeld, isWaiting, isOver) = (Lock(0), Box<Int32>(), Box<Bool>(), Box<Bool>())
        try TimerKernel.Thread.start("test.holder") {
            lock.withLock { _ in
                isHeld.value = Self.thread
                while isOver.value == nil { usleep(200) }
            }
        }
        #expect(eventually { isHeld.value != nil })
        let holder = try #require(isHeld.value)
        #expect(Self.priority(of: holder).map { $0 > 0 } == true, "an ordinary thread")
        try TimerKernel.Thread.start("test.waiter") {
            var parameters = sched_param()
            parameters.sched_priority = 10
            isWaiting.value = unsafe sched_setscheduler(0, SCHED_FIFO, &parameters) == 0
            lock.withLock { $0 += 1 }
        }
        #expect(eventually { isWaiting.value != nil })
        if isWaiting.value == true {
            // proc_pid_stat(5) shows real-time priorities as -2 to -100.
            #expect(eventually { Self.priority(of: holder) == -11 })
        }
        isOver.value = true
        #expect(eventually { lock.withLock { $0 } == 1 })
    }

    /// Without inheritance, the second thread would keep the first from running, and so the third from getting the
    /// lock, for as long as it likes (the inversion of priorities that stopped Mars Pathfinder).
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE"))
    func aThreadOfMiddlePriorityCannotKeepTheHolderFromReleasingTheLock() throws {
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
        var used = Duration.zero
        while used < limit, !isOver() {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            used = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
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
#endif
