import Foundation
import Glibc
import PreciseTimer
import TestSupport
import Testing

/// The library as a guest in the process: exits, forks, signals and idleness.
@Suite(.waits("processes fork, exit and get signals"), .timeLimit(.minutes(60))) struct ProcessTests {
    private static let many = Effort.of(1_000, thorough: 10_000)
    typealias Backend = TimerService.Backend

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Backend.available)
    func aTickingTimerDoesNotKeepTheProcessFromExiting(backend: Backend) async {
        await #expect(processExitsWith: .exitCode(7)) { [backend] in
            Fault.endIfHung()
            let target = Log()
            try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) { $0.note($1) }
            #expect(eventually { target.count >= 5 })
            exit(7)
        }
    }

    @Test(arguments: Backend.available)
    func aForkedChildGetsAnErrorAndTheParentIsUnharmed(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let target = Log()
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: backend.shared, target: target) {
                $0.note($1)
            }
            #expect(eventually { target.count >= 5 })
            let code = Fork.outcome(of: { deviationInAForkedChild(timer, backend, target) })
            #expect(code == 0)
            let before = target.count
            #expect(eventually { target.count >= before + 20 })
            #expect(timer.state == .scheduled)
            let ticks = target.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted, "no tick was stolen")
        }
    }

    @Test(arguments: Backend.available)
    func manyTimersCostNoMoreThanOne(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            DispatchDescriptors.open()
            let target = Log()
            try PreciseTimer.schedule(.every(.milliseconds(5)), on: backend.shared, target: target) { $0.note($1) }
            #expect(eventually { target.count >= 3 })
            let (descriptors, threads) = (ProcFS.openDescriptors, ProcFS.threads(named: "").count)
            for number in 1..<Self.many {
                let period = Duration.milliseconds(100 + number % 400)
                try PreciseTimer.schedule(.every(period), on: backend.shared, target: target) { $0.note($1) }
            }
            #expect(backend.shared.pendingCount == Self.many)
            #expect(eventually { target.count >= Self.many })
            // Dispatch and the test runner may keep a few more workers and descriptors.
            #expect(eventually { ProcFS.threads(named: "").count <= threads + 10 })
            #expect(eventually { ProcFS.openDescriptors <= descriptors + 10 })
        }
    }
    #endif

    @Test func aTrapInAHandlerEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let target = Log()
            try PreciseTimer.schedule(.once(after: .zero), target: target) { _, _ in preconditionFailure("on purpose") }
            pause(.seconds(Hang.seconds / 2))
            exit(0)
        }
    }

    #if DEBUG
    @Test func aHandleDroppedBeforeItsFirstTickIsReportedWithItsPlace() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            // The line is given by hand, because the macro around this closure shifts #line.
            _ = try PreciseTimer.schedule(.every(.seconds(3_600)), line: 4_711) { _, _ in }
        }
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("FaultTests/ProcessTests.swift:4711: the handle of this timer was dropped"))
    }
    #endif

    @Test func aHandleDroppedAfterItsFirstTickOrACancelIsNotReported() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let log = Log()
            var timer: PreciseTimer? = try PreciseTimer.schedule(.every(.milliseconds(1))) { log.note($1) }
            #expect(eventually { log.count >= 1 })
            timer = nil
            try PreciseTimer.schedule(.every(.seconds(1))) { _, _ in }.cancel()
            _ = timer
            #expect(throws: TimerError.self) { _ = try PreciseTimer.schedule(.every(.zero)) { _, _ in } }
        }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("PreciseTimer:") == false)
    }

    #if compiler(>=6.3)
    @Test(arguments: Backend.available)
    func anIdleServiceUsesHardlyAnyProcessorTime(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let target = Log()
            try PreciseTimer.schedule(.once(after: .zero), on: backend.shared, target: target) { $0.note($1) }
            try PreciseTimer.schedule(.once(after: .seconds(3_600)), on: backend.shared, target: target) { $0.note($1) }
            #expect(eventually { target.count == 1 })
            // A whole second is idle: its five fifths in a row. Before it, the test process may still be starting.
            var quiet = 0
            for _ in 0..<100 where quiet < 5 {
                let before = Reading.cpuSeconds
                pause(.milliseconds(200))
                quiet = Reading.cpuSeconds - before < 0.02 ? quiet + 1 : 0
            }
            #expect(quiet == 5)
        }
    }

    @Test(arguments: Backend.available)
    func timersOfAStoppedProcessGoOnOnTheirGrid(backend: Backend) async {
        await #expect(processExitsWith: .success) { [backend] in
            Fault.endIfHung()
            let target = Log()
            try PreciseTimer.schedule(.every(.milliseconds(20)), on: backend.shared, target: target) { $0.note($1) }
            #expect(eventually { target.count >= 3 })
            let parent = getpid()
            let helper = { () -> Int32 in
                kill(parent, SIGSTOP)
                usleep(250_000)
                return kill(parent, SIGCONT)
            }
            let code = Fork.outcome(of: helper)
            #expect(code == 0)
            #expect(eventually { target.ticks.contains { $0.missed >= 10 } })
            let before = target.count
            #expect(eventually { target.count >= before + 5 })
            let ticks = target.ticks
            let accounted = Array(ticks.dropLast()).accounted
            #expect(ticks.last?.index == accounted)
            let first = ticks[0]
            for tick in ticks {
                let offset = first.deadline.duration(to: tick.deadline)
                #expect(offset == .milliseconds(20 * Int64(tick.index)))
                #expect(tick.lateness >= .zero)
            }
        }
    }
    #endif
}

/// 0 if a forked child finds everything as promised, or the number of the first deviation.
private func deviationInAForkedChild(_ timer: PreciseTimer, _ backend: TimerService.Backend, _ target: Log) -> Int32 {
    do {
        try PreciseTimer.schedule(.once(after: .zero), on: backend.shared, target: target) { $0.note($1) }
        return 1
    } catch {
        if error.code != .forked { return 2 }
    }
    if timer.cancel() { return 3 }
    guard case .ended(.backendFailed(let error)) = timer.state, error.code == .forked else { return 4 }
    backend.shared.shutdownForEveryone()
    if backend.shared.now.nanoseconds == 0 { return 5 }
    return 0
}
