import HostSystem
import TestSupport
import Testing

/// Programs that run beside this process.
@Suite(.waits("programs run beside this process")) struct ChildProcessTests {
    @Test func outputAndExitCodeAreKept() throws {
        var child = try ChildProcess("/bin/sh", ["-c", "echo out; echo err >&2; exit 3"])
        let end = wait(for: &child)
        let (output, errors) = (child.outputText, child.errorText)
        #expect(end.code == 3)
        #expect(output == "out\n")
        #expect(errors == "err\n")
    }

    @Test func aWaitingProgramCanBeInterrupted() throws {
        var child = try ChildProcess("/bin/sleep", ["100"])
        child.interrupt()
        let end = wait(for: &child)
        #expect(end.code == nil)
    }

    @Test func aProgramThatIgnoresTheInterruptIsKilledInDeinit() throws {
        func dropRunningChild() throws {
            var child = try ChildProcess("/bin/sh", ["-c", "trap '' INT; echo ready; sleep 100"])
            while child.outputText.isEmpty { pause(.milliseconds(1)) }
            child.interrupt()
            pause(.milliseconds(20))
            let end = child.poll()
            #expect(end == nil)
        }
        let start = ContinuousClock.now
        try dropRunningChild()
        #expect(start.duration(to: .now) < .seconds(50))
    }

    @Test func aProgramKeepsTheRequestedTimerSlackAsItsDefault() async throws {
        // Writing 0 restores the default, as the kernel does when a thread comes back from a real-time policy.
        // The shell reads it by itself: another program would need CAP_SYS_NICE.
        let show = "read slack < /proc/$$/timerslack_ns; echo $slack"
        let commands = "\(show); echo 0 > /proc/$$/timerslack_ns; \(show)"
        let text = try await onOwnThread {
            TimerSlack.nanoseconds = 40_000
            var child = try ChildProcess("/bin/sh", ["-c", commands], timerSlack: 1)
            let slack = TimerSlack.nanoseconds
            #expect(slack == 40_000, "the calling thread has its own again")
            _ = wait(for: &child)
            return child.outputText
        }
        #expect(text == "1\n1\n")
    }

    @Test func aProgramTakesOverTheTimerSlackOfItsThread() async throws {
        let text = try await onOwnThread {
            TimerSlack.nanoseconds = 40_000
            var child = try ChildProcess("/bin/cat", ["/proc/self/timerslack_ns"])
            _ = wait(for: &child)
            return child.outputText
        }
        #expect(text == "40000\n")
    }

    @Test func aMissingProgramIsAnError() {
        let error = #expect(throws: SystemError.self) { _ = try ChildProcess("/nowhere/nothing", []) }
        #expect(error?.description == "starting /nowhere/nothing: No such file or directory (errno 2)")
    }
}

private func wait(for child: inout ChildProcess) -> ChildProcess.End {
    while true {
        if let end = child.poll() { return end }
        pause(.milliseconds(1))
    }
}
