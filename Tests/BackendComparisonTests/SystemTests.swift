#if Instrument && DEBUG
import Foundation
import Glibc
import TestSupport
import Testing
import TimerKernel

@testable import BackendComparison

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
    @Test func theStatusOfAProgramThatHasEndedIsKnown() throws {
        var child = try ChildProcess("/bin/sh", ["-c", "exit 3"])
        while child.poll() == nil { pause(.milliseconds(1)) }
        #expect(child.poll()?.code == 3 && child.poll()?.description == "exit status 3")
    }

    @Test func aMissingProgramIsAnError() {
        let error = #expect(throws: Failure.self) { _ = try ChildProcess("/nowhere/nothing", []) }
        #expect(error?.description == "starting /nowhere/nothing: No such file or directory (errno 2)")
    }
}
#endif
