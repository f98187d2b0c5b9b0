import Glibc
import PreciseTimer
import TestSupport
import Testing

/// A part of the program closes a descriptor that is not its own. Fault 52.
@Suite(.waits("the kernel gives a closed number to the next descriptor")) struct StrayCloseTests {
    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    /// The kernel gives the number to the next service, whose timer the first one would set.
    @Test(arguments: [TimerService.Backend.timerFD, .hybrid])
    func aServiceWhoseDescriptorsNumberWentToAnotherServiceEndsAndLeavesThatOneAlone(
        backend: TimerService.Backend
    ) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            DispatchDescriptors.open()
            let before = Set(ProcFS.descriptors(on: "anon_inode:[timerfd]"))
            let (first, ends, lost, log) = (try TimerService(backend), Notes<TimerError>(), Log(), Log())
            try PreciseTimer.schedule(
                .every(.milliseconds(50)),
                on: first,
                target: lost,
                onEnd: { if case .backendFailed(let error) = $0 { ends.append(error) } },
                handler: { $0.note($1) }
            )
            let own = ProcFS.descriptors(on: "anon_inode:[timerfd]").filter { !before.contains($0) }
            let number = try #require(own.first)
            #expect(own.count == 1)
            close(number)
            // Smaller numbers may be free, too.
            var others: [TimerService] = []
            while others.count < 100, fcntl(number, F_GETFD) == -1 { others.append(try TimerService(backend)) }
            let second = try #require(others.last)
            #expect(ProcFS.descriptors(on: "anon_inode:[timerfd]").contains(number), "the number has a new owner")
            try PreciseTimer.schedule(.every(.milliseconds(5)), on: second, target: log) { $0.note($1) }
            #expect(eventually { ends.all.count == 1 })
            #expect(ends.all.map(\.errno) == [EBADF])
            let count = log.count
            #expect(eventually { log.count >= count + 20 })
            first.shutdown()
            let after = log.count
            #expect(eventually { log.count >= after + 20 }, "its descriptor was not closed")
            let ticks = log.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted)
        }
    }
    #endif
}
