#if Instrument && DEBUG
import Foundation
import Glibc
import TestSupport
import Testing
import TimerKernel

@testable import BackendComparison

/// The kernel's small files.
@Suite struct ProcFileTests {
    @Test func aMissingFileIsAnError() {
        let error = #expect(throws: Failure.self) { try InputFile.read("/nowhere/nothing") }
        #expect(error?.description == "reading /nowhere/nothing: No such file or directory (errno 2)")
        #expect(ProcFile.text("/nowhere/nothing") == nil)
    }
}

/// Clocks, sleeps and the bare timer.
struct ClockTests {
    @Test(arguments: [TimerClock.suspending, .continuous, .wall])
    func sleepsAndTimersAreNeverEarly(_ clock: TimerClock) throws {
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
}

/// Threads of the instrument.
struct ThreadTests {
    /// SCHED_BATCH, which Glibc shows to GNU sources only.
    private static let batch: CInt = 3

    @Test func aThreadIsScheduledAsTheMainThreadAndNotAsTheOneThatStartsIt() throws {
        let policy = Box<CInt>()
        let starter = Foundation.Thread {
            var parameters = sched_param()
            #expect(unsafe sched_setscheduler(0, Self.batch, &parameters) == 0)
            #expect(throws: Never.self) {
                try TimerKernel.Thread.start("test.policy") { policy.value = sched_getscheduler(0) }
            }
        }
        starter.start()
        #expect(eventually { policy.value != nil })
        #expect(policy.value == sched_getscheduler(getpid()))
    }
}

/// Running and waiting of one thread.
struct ThreadAccountTests {
    @Test func workIsRunningTimeAndSleepIsNot() throws {
        let before = try #require(ThreadAccount.current)
        var last = before
        while last.running - before.running < 5_000_000 { last = try #require(ThreadAccount.current) }
        #expect(last.thread == before.thread && last.waiting >= before.waiting)
        TimerClock.sleep(for: .milliseconds(200))
        #expect(try #require(ThreadAccount.current).running - last.running < 100_000_000)
    }
}

/// What the kernel allows this process.
struct RightsTests {
    @Test func rightsAreBitsOfOneLine() {
        let text = "Name:\ttest\nCapPrm:\t000001ffffffffff\nCapEff:\t"
        for right in [Capability.lockMemory, .setPriority] {
            let sets = [
                "0000000000804000\n", "00000000007fbfff\n", "", "\n", "much\n", "1\t2\n", "10000000000000000\n",
            ]
            #expect(sets.map { right.isHeld(in: text + $0) } == [true, false, nil, nil, nil, nil, nil])
            #expect(right.isHeld != nil)
        }
    }

    @Test func aDeviceIsAllowedRefusedOrMissing() {
        // A folder cannot be written to, even by root.
        #expect(["/dev/null", "/nowhere/nothing", "/proc"].map(IdleControl.isWritable) == [true, nil, false])
    }

    @Test func limitsAreThoseOfTheProcess() async {
        #expect(ResourceLimit.realTimePriority.current != nil)
        await #expect(processExitsWith: .success) {
            Limit.lockedMemory.set(4096)
            #expect(ResourceLimit.lockedMemory.current == 4096)
        }
    }

    @Test func aRealTimePriorityTakesARightOrALimit() async {
        await #expect(processExitsWith: .success) {
            Limit.realTimePriority.set(0)
            // The right does not survive this.
            if getuid() == 0 { setuid(65534) }
            #expect(RealTime.isAllowed == false)
        }
    }
}

/// Programs that run beside this process.
@Suite(.waits("programs run beside this process")) struct ChildProcessTests {
    @Test func theEndOfAProgramIsKnown() throws {
        // A program that a signal ends has no exit code.
        for (end, code, words) in Self.ends {
            var child = try ChildProcess("/bin/sh", ["-c", end])
            var found = child.poll()
            while found == nil {
                pause(.milliseconds(1))
                found = child.poll()
            }
            #expect(found?.code == code && found?.description == words, "\(end)")
        }
    }

    private static let ends: [(String, Int32?, String)] = [
        ("exit 3", 3, "exit status 3"), ("kill -INT $$", nil, "signal 2"),
    ]

    @Test func aRunningProgramIsKilledInDeinit() throws {
        let file = try TemporaryFile()
        func dropRunningChild() throws -> pid_t? {
            let child = try ChildProcess("/bin/sh", ["-c", "trap '' INT TERM; echo $$ > \(file.path); sleep 100"])
            while try file.text.isEmpty { pause(.milliseconds(1)) }
            withExtendedLifetime(child) {}
            return pid_t(try file.text.dropLast())
        }
        let id = try #require(try dropRunningChild())
        #expect(kill(id, 0) == -1)
    }

    @Test func aMissingProgramIsAnError() {
        let error = #expect(throws: Failure.self) { _ = try ChildProcess("/nowhere/nothing", []) }
        #expect(error?.description == "starting /nowhere/nothing: No such file or directory (errno 2)")
    }
}
#endif
