import Dispatch
import Foundation
import Glibc
import HostSystem
import Synchronization
import Testing

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

@Suite struct ThreadAccountTests {
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

    @Test func theDeepestIdleStateCounts() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "idle-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(IdleStates.deepest(in: folder.path) == nil)
        // The last one is no time that a processor could take.
        for (state, latency) in ["2\n", "133\n", "10\n", "4000000000\n"].enumerated() {
            let path = folder.appending(path: "state\(state)")
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
            try Data(latency.utf8).write(to: path.appending(path: "latency"))
        }
        #expect(IdleStates.deepest(in: folder.path)?.exit == 133_000)
        try Data("C6\n".utf8).write(to: folder.appending(path: "state1/name"))
        #expect(IdleStates.deepest(in: folder.path)?.name == "C6")
        try Data("1\n".utf8).write(to: folder.appending(path: "state1/disable"))
        #expect(IdleStates.deepest(in: folder.path)?.exit == 10_000)
    }
}
