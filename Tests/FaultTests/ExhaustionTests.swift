import PreciseTimer
import TestSupport
import Testing

/// A system that refuses: an error from the call, never a trap, a hang, or a timer that silently never ticks.
///
/// Each fault happens in a child process of its own.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ExhaustionTests {
    typealias Backend = TimerService.Backend

    @Test(arguments: Backend.available)
    func withoutDescriptorsAScheduleIsRefusedAndWorksOnceThereAreSome(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.limitSeconds(20)
            let target = Log()
            Fault.closeDescriptorTable()
            for _ in 0..<3 {
                let error = #expect(throws: TimerError.self) {
                    try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) {
                        $0.note($1)
                    }
                }
                #expect(error?.code == .systemRefused)
                #expect(throws: TimerError.self) { try TimerService(backend) }
            }
            Fault.openDescriptorTable()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) { $0.note($1) }
            #expect(eventually { target.count >= 10 })
        }
    }

    @Test(arguments: Backend.available, 0..<12)
    func withFewDescriptorsABackendTicksOrRefuses(backend: Backend, left: Int) async {
        await #expect(processExitsWith: .success) { [backend, left] in
            Fault.limitSeconds(20)
            let target = Log()
            Fault.leaveDescriptors(left)
            do throws(TimerError) {
                try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) { $0.note($1) }
                #expect(eventually { target.count >= 10 })
            } catch {
                #expect(error.code == .systemRefused)
                // The run loop needs eight, and the test runner may take three for its own time limit meanwhile.
                #expect(left < (backend == .runLoop ? 11 : 6))
            }
        }
    }

    @Test(arguments: Backend.available)
    func aRunningTimerKeepsItsGridWhileOthersAreRefused(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.limitSeconds(20)
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
    func withoutThreadsAScheduleIsRefusedAndWorksOnceThereAreSome(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.limitSeconds(20)
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
}
