import Glibc
import HostSystem
import Testing

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

    @Test func theFirstOfSeveralSignalsIsKept() async {
        await #expect(processExitsWith: .success) {
            Interrupt.watch()
            for number in [SIGTERM, SIGINT, SIGHUP] { raise(number) }
            #expect(Interrupt.signal == SIGTERM)
        }
    }

    @Test func anIgnoredHangUpStaysIgnored() async {
        await #expect(processExitsWith: .success) {
            signal(SIGHUP, SIG_IGN)
            Interrupt.watch()
            raise(SIGHUP)
            raise(SIGHUP)
            #expect(Interrupt.signal == nil)
        }
    }

    @Test func aBlockedSignalIsUnblocked() async {
        await #expect(processExitsWith: .success) {
            var all = sigset_t()
            unsafe sigfillset(&all)
            unsafe pthread_sigmask(SIG_SETMASK, &all, nil)
            Interrupt.watch()
            raise(SIGTERM)
            #expect(Interrupt.signal == SIGTERM)
        }
    }
}
