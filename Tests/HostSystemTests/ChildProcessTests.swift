import Glibc
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

    @Test func aProgramThatASignalEndsHasNoExitCode() throws {
        var child = try ChildProcess("/bin/sh", ["-c", "kill -INT $$"])
        let end = wait(for: &child)
        #expect(end.code == nil)
    }

    @Test func aPausedProgramStandsStillUntilItIsResumed() throws {
        let child = try ChildProcess("/bin/sh", ["-c", "while :; do echo; sleep 0.01; done"])
        func grows() -> Bool {
            let before = child.outputText.utf8.count
            pause(.milliseconds(200))
            return child.outputText.utf8.count > before
        }
        #expect(eventually { grows() })
        child.pause()
        // The signal takes a moment.
        #expect(eventually { !grows() })
        child.resume()
        #expect(eventually { grows() })
    }

    @Test func aRunningProgramIsKilledInDeinit() throws {
        func dropRunningChild() throws -> pid_t? {
            let child = try ChildProcess("/bin/sh", ["-c", "trap '' INT TERM; echo $$; sleep 100"])
            while child.outputText.isEmpty { pause(.milliseconds(1)) }
            return pid_t(child.outputText.dropLast())
        }
        let id = try #require(try dropRunningChild())
        #expect(kill(id, 0) == -1)
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
