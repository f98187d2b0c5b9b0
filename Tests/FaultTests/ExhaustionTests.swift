import PreciseTimer
import TestSupport
import Testing

/// If the system refuses a resource, the call throws. It never traps or hangs, and never leaves a timer that
/// does not tick.
///
/// Each fault happens in a separate child process.
@Suite(.waits("the kernel refuses descriptors and threads"), .timeLimit(.minutes(60))) struct ExhaustionTests {
    typealias Backend = TimerService.Backend

    @Test(arguments: Backend.available)
    func aScheduleWithoutDescriptorsIsRefusedAndWorksLater(backend: Backend) async throws {
        let refused = Array(repeating: "schedule=1x10000", count: 3)
        let run = try await Probe.run(backend, ["fill=0"] + refused + ["unfill", "schedule=1x10000", "ticks=5"])
        #expect(run.outcome.code == 0, "\(run)")
        let codes = run.report?.steps.map { $0.refusal?.code }
        #expect(codes == [nil] + Array(repeating: "refused by the system", count: 3) + [nil, nil, nil], "\(run)")
        #expect(run.report?.steps.last?.isMet == true, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
    }

    /// Like the test above, in a program without a test runner, because the runner takes descriptors meanwhile.
    @Test(arguments: Backend.available, 0..<12)
    func aBackendWithFewDescriptorsTicksOrRefuses(backend: Backend, left: Int) async throws {
        let run = try await Probe.run(backend, ["fill=\(left)", "schedule=3x10000", "ticks-or-ends=5"], hurried: true)
        #expect(run.outcome.code == 0, "\(run)")
        #expect(run.silence(ticks: 5) == nil, "\(run)")
        let isRefused = run.report?.step("schedule")?.refusal != nil
        #expect(isRefused == (left < Self.descriptors(of: backend)), "\(run)")
    }

    /// The number of descriptors that a backend's first service needs, including its trials before it lets a
    /// library go ahead.
    private static func descriptors(of backend: Backend) -> Int {
        switch backend {
        case .timerFD, .hybrid: 1
        case .dispatch: 4
        case .libevent: 6
        case .runLoop: 8
        }
    }

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Backend.available)
    func aRunningTimerKeepsItsGridWhileOtherTimersAreRefused(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            DispatchDescriptors.open()
            let target = Log()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) { $0.note($1) }
            #expect(eventually { target.count >= 5 })
            Fault.closeDescriptorTable()
            for other in Backend.available where other != backend {
                let error = #expect(throws: TimerError.self) {
                    try PreciseTimer.schedule(.every(.milliseconds(1)), on: other.shared, target: target) {
                        $0.note($1)
                    }
                }
                #expect(error?.code == .systemRefused)
            }
            let before = target.count
            #expect(eventually { target.count >= before + 20 })
            let ticks = target.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted)
        }
    }

    @Test(arguments: Backend.available)
    func aScheduleWithoutThreadsIsRefusedAndWorksLater(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let target = Log()
            Fault.refuseThreads()
            let error = #expect(throws: TimerError.self) {
                try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) { $0.note($1) }
            }
            #expect(error?.code == .systemRefused)
            Fault.allowThreads()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) { $0.note($1) }
            #expect(eventually { target.count >= 10 })
        }
    }
    #endif
}
