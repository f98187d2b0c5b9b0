import TestSupport
import Testing
import TimerAlarms
import TimerCore

/// Programs that run beside this process.
struct ChildProcessTests {
    @Test
    func whatItWritesIsKept() async throws {
        var child = try ChildProcess("/bin/sh", ["-c", "echo out; echo err >&2; exit 3"])
        var end = child.poll()
        while end == nil {
            try await Task.sleep(for: .milliseconds(1))
            end = child.poll()
        }
        let (output, errors) = (child.outputText, child.errorText)
        #expect(end?.code == 3)
        #expect(output == "out\n")
        #expect(errors == "err\n")
    }

    @Test
    func oneThatWaitsIsInterrupted() async throws {
        var child = try ChildProcess("/bin/sleep", ["100"])
        child.interrupt()
        var end = child.poll()
        while end == nil {
            try await Task.sleep(for: .milliseconds(1))
            end = child.poll()
        }
        #expect(end?.code == nil)
    }

    @Test
    func oneThatIsGivenUpIsEnded() throws {
        func giveUp() throws {
            var child = try ChildProcess("/bin/sh", ["-c", "trap '' INT; echo ready; sleep 100"])
            while child.outputText.isEmpty { KernelClock.sleep(for: .milliseconds(1)) }
            child.interrupt()
            KernelClock.sleep(for: .milliseconds(20))
            let end = child.poll()
            #expect(end == nil)
        }
        // Returns when it has been waited for, which is long before it would end by itself.
        let start = KernelClock.now(.suspending)
        try giveUp()
        #expect(start.duration(to: KernelClock.now(.suspending)) < .seconds(50))
    }

    @Test
    func aProgramThatIsNotThereIsAnError() {
        #expect(throws: TimerError.self) { _ = try ChildProcess("/nowhere/nothing", []) }
    }
}
