#if canImport(Darwin) || KQUEUE
import PreciseTimer
import TestSupport
import Testing
import TimerKernel

/// What a Mac does not have is refused, and the caller is told.
@Suite(.waits("services start their threads")) struct MacTests {
    typealias Options = TimerService.ThreadOptions

    @Test func everyThreadOptionButADeadlineIsRefusedInTheGrant() throws {
        let options = Options(
            policy: .fifo(priority: 1),
            affinity: [0],
            timerSlack: .microseconds(1),
            slice: .microseconds(100),
            locksMemory: true,
            idleLatency: .zero
        )
        let service = try TimerService(.timerFD, thread: options)
        #expect(Set(service.grant.refusals.map(\.option)) == Set(TimerService.ThreadGrant.Option.allCases))
        #expect(service.grant.refusals.allSatisfy { $0.advice != nil })
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        #expect(eventually { log.count >= 3 }, "the service runs without them")
    }

    @Test func aRequiredOptionIsAnError() {
        let error = #expect(throws: TimerError.self) {
            try TimerService(.timerFD, thread: Options(policy: .roundRobin(priority: 1), demand: .required))
        }
        #expect(error?.code == .systemRefused)
    }

    @Test func theKernelsTimerDoesNotWaitOnTheWallClock() {
        for make in [{ _ = try TimerService.pollable(clock: .wall) }, { _ = try TimerDescriptor(.wall) }] {
            let error = #expect(throws: TimerError.self) { try make() }
            #expect(error?.code == .unavailable)
        }
    }

    @Test func stepsOfTheWallClockAreNotTold() throws {
        let service = try TimerService(.dispatch, clock: .wall)
        let error = #expect(throws: TimerError.self) { try service.clockSteps }
        #expect(error?.code == .unavailable)
    }

    @Test func suspensionsAreNotTold() throws {
        let error = #expect(throws: TimerError.self) { try TimerService.default.suspensions }
        #expect(error?.code == .unavailable)
    }
}
#endif
