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
    func aProgramIsStartedWithTheTimerSlackAskedForAndKeepsItAsItsDefault() async throws {
        // Writing 0 restores the default, as the kernel does when a thread comes back from a real-time policy.
        let commands = "cat /proc/$$/timerslack_ns; echo 0 > /proc/$$/timerslack_ns; cat /proc/$$/timerslack_ns"
        let text = try await onOwnThread {
            KernelClock.setTimerSlack(nanoseconds: 40_000)
            var child = try ChildProcess("/bin/sh", ["-c", commands], timerSlack: 1)
            let slack = KernelClock.timerSlack
            #expect(slack == 40_000, "the calling thread has its own again")
            while child.poll() == nil { pause(.milliseconds(1)) }
            return child.outputText
        }
        #expect(text == "1\n1\n")
    }

    @Test
    func aProgramTakesOverTheTimerSlackOfItsThread() async throws {
        let text = try await onOwnThread {
            KernelClock.setTimerSlack(nanoseconds: 40_000)
            var child = try ChildProcess("/bin/cat", ["/proc/self/timerslack_ns"])
            while child.poll() == nil { pause(.milliseconds(1)) }
            return child.outputText
        }
        #expect(text == "40000\n")
    }

    @Test
    func aProgramThatIsNotThereIsAnError() {
        #expect(throws: TimerError.self) { _ = try ChildProcess("/nowhere/nothing", []) }
    }
}
