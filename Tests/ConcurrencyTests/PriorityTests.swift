import Foundation
import Glibc
import TestSupport
import Testing
import TimerAlarms

/// A real-time thread that waits for a lock lends its priority to the thread that holds it.
struct PriorityTests {
    @Test(.enabled(if: geteuid() == 0, "only root may give a thread a real-time priority here"))
    func theHolderOfALockInheritsThePriorityOfAWaitingThread() throws {
        let (lock, isHeld, isWaiting, isOver) = (Lock(0), Box<Int32>(), Box<Bool>(), Box<Bool>())
        try TimerAlarms.Thread.start("test.holder") {
            lock.withLock { _ in
                isHeld.value = Self.thread
                while isOver.value == nil { usleep(200) }
            }
        }
        #expect(eventually { isHeld.value != nil })
        let holder = try #require(isHeld.value)
        #expect(Self.priority(of: holder).map { $0 > 0 } == true, "an ordinary thread")
        try TimerAlarms.Thread.start("test.waiter") {
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
