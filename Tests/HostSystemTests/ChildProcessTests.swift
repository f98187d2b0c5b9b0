import Glibc
import HostSystem
import TestSupport
import Testing

/// Programs that run beside this process.
@Suite(.waits("programs run beside this process")) struct ChildProcessTests {
    @Test func outputAndExitCodeAreKept() throws {
        // A program that a signal ends has no exit code.
        for (end, code, words) in Self.ends {
            var child = try ChildProcess("/bin/sh", ["-c", "echo out; echo err >&2; \(end)"])
            var found = child.poll()
            while found == nil {
                pause(.milliseconds(1))
                found = child.poll()
            }
            let texts = [child.outputText, child.errorText]
            #expect(found?.code == code && found?.description == words && texts == ["out\n", "err\n"], "\(end)")
        }
    }

    private static let ends: [(String, Int32?, String)] = [
        ("exit 3", 3, "exit status 3"), ("kill -INT $$", nil, "signal 2"),
    ]

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

/// Signals that ask a command to end. Each test has its own process.
struct InterruptTests {
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func theFirstSignalIsARequestAndTheSecondEndsTheProcess(_ number: Int32) async {
        await #expect(processExitsWith: .signal(number)) { [number] in
            Interrupt.watch()
            #expect(Interrupt.signal == nil && !Interrupt.isRequested)
            raise(number)
            #expect(Interrupt.signal == number && Interrupt.isRequested)
            raise(number)
        }
    }

    /// Signals are unblocked, an ignored one stays ignored, and the first of the others is kept.
    @Test func theFirstOfSeveralSignalsIsKept() async {
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            var all = sigset_t()
            unsafe sigfillset(&all)
            unsafe pthread_sigmask(SIG_SETMASK, &all, nil)
            Interrupt.watch()
            for number in [SIGHUP, SIGHUP, SIGTERM, SIGINT] { raise(number) }
            #expect(Interrupt.signal == SIGTERM)
        }
    }
}
