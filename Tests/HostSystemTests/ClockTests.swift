import Dispatch
import Foundation
import Glibc
import HostSystem
import Synchronization
import TestSupport
import Testing

/// Clocks, sleeps and the bare timer.
struct ClockTests {
    @Test(arguments: [SystemClock.monotonic, .boottime, .realtime])
    func sleepsAndTimersAreNeverEarly(_ clock: SystemClock) throws {
        let timer = try BareTimer(clock)
        for _ in 0..<5 {
            let sleep = clock.nanoseconds + 1_000_000
            clock.sleep(until: sleep)
            #expect(clock.nanoseconds >= sleep)
            let wait = clock.nanoseconds + 1_000_000
            timer.wait(until: wait)
            #expect(clock.nanoseconds >= wait)
        }
        // Instants that have passed.
        clock.sleep(until: 0)
        timer.wait(until: 0)
    }

    @Test func aThreadHasItsNameAndAccount() async throws {
        let (thread, isOver) = (Box<KernelThread>(), StopFlag())
        try KernelThread.start("test.account") {
            thread.value = .current
            while !isOver.isSet { SystemClock.sleep(for: .milliseconds(1)) }
        }
        #expect(await soon { thread.value != nil })
        let kernelThread = try #require(thread.value)
        #expect(ProcFS.threads(named: "test.account").count == 1)
        let usage = try #require(kernelThread.usage)
        #expect(usage.cpuNanoseconds > 0)
        isOver.set()
        #expect(await soon { kernelThread.usage == nil && kernelThread.isAsleep })
    }
}

/// Threads of the instrument.
struct ThreadTests {
    /// SCHED_BATCH, which Glibc shows to GNU sources only.
    private static let batch: CInt = 3

    @Test func aThreadIsScheduledAsTheMainThreadAndNotAsTheOneThatStartsIt() throws {
        let result = Box()
        let hasEnded = DispatchSemaphore(value: 0)
        let starter = Foundation.Thread {
            var parameters = sched_param()
            #expect(unsafe sched_setscheduler(0, Self.batch, &parameters) == 0)
            #expect(throws: Never.self) {
                try KernelThread.start("test.policy") {
                    result.policy.store(sched_getscheduler(0), ordering: .relaxed)
                    hasEnded.signal()
                }
            }
        }
        starter.start()
        hasEnded.wait()
        #expect(result.policy.load(ordering: .relaxed) == sched_getscheduler(getpid()))
    }

    private final class Box: Sendable {
        let policy = Atomic<CInt>(-1)
    }
}

/// Running and waiting of one thread.
struct ThreadAccountTests {
    @Test func workIsRunningTime() throws {
        let before = try #require(ThreadAccount.current)
        var last = before
        while last.running - before.running < 5_000_000 { last = try #require(ThreadAccount.current) }
        #expect(last.thread == before.thread)
        #expect(last.waiting >= before.waiting)
    }

    @Test func sleepIsNotRunningTime() throws {
        let before = try #require(ThreadAccount.current)
        SystemClock.sleep(for: .milliseconds(200))
        let after = try #require(ThreadAccount.current)
        #expect(after.running - before.running < 100_000_000)
    }
}
