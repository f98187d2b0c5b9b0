#if DEBUG
import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// What a debug build says on standard error about mistakes that would otherwise be silent.
@Suite(.waits("processes of their own end for these")) struct HintTests {
    @Test func aTargetThatDiesBeforeTheFirstTickIsTold() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let virtual = VirtualTime()
                try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: Log()) { $0.note($1) }
                virtual.advanceWithoutSettling(by: .seconds(1))
            }
        )
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("\(#fileID):\(#line - 8): the target of this timer was released before its first tick"))
    }

    /// A connection may close before its time-out, and a counter may be done.
    @Test func aTargetThatDiesOtherwiseIsNotTold() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let virtual = VirtualTime()
                try PreciseTimer.schedule(.once(after: .seconds(9)), on: virtual.service, target: Log()) { _, _ in }
                try PreciseTimer.schedule(.onDemand, on: virtual.service, target: Log()) { _, _ in }
                var log: Log? = Log()
                if let log {
                    try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
                }
                virtual.advanceWithoutSettling(by: .seconds(1))
                log = nil
                virtual.advanceWithoutSettling(by: .seconds(20))
            }
        )
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).isEmpty)
    }

    @Test func eachPlaceThatDropsItsHandleIsToldOnce() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let virtual = VirtualTime()
                for _ in 0..<50 { try dropHandles(on: virtual.service) }
            }
        )
        let said = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        #expect(Set(said).count == 2 && said.count == 2)
        for said in said { #expect(said.contains("the handle of this timer was dropped before its first tick")) }
    }

    private struct Trouble: Error {}

    @Test func anErrorThatEndsATimerUnheardIsToldOnceForEachPlace() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let (virtual, log) = (VirtualTime(), Log())
                var timers: [PreciseTimer] = []
                for _ in 0..<5 {
                    let timer = try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: log) {
                        _,
                        _ in throw Trouble()
                    }
                    timers.append(timer)
                }
                await virtual.advance(by: .zero)
                // A handler whose thread is held up has written nothing yet.
                for timer in timers { await timer.cancelAndWait() }
            }
        )
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.split(separator: "\n").count == 1)
        #expect(said.contains("HintTests.swift:"))
        #expect(said.contains(": the handler of this timer threw an error, which ended the timer"))
        #expect(said.contains("nobody was told: Trouble()"))
    }

    /// The library itself hears of the end of such a timer.
    @Test func anErrorThatEndsATimerWithComputedDeadlinesUnheardIsTold() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let (service, log) = (TimerService.wall, Log())
                let timer = try PreciseTimer.schedule(
                    .computed { $0.advanced(by: .milliseconds(1)) },
                    on: service,
                    target: log
                ) { _, _ in throw Trouble() }
                #expect(await soon { timer.state != .scheduled })
                await timer.cancelAndWait()
            }
        )
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("nobody was told: Trouble()"))
    }

    @Test func anErrorThatSomebodyIsToldIsNotTold() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let (virtual, log, mayThrow) = (VirtualTime(), Log(), Gate())
                func schedule(
                    onEnd: (@Sendable (PreciseTimer.EndReason) -> Void)? = nil,
                    onError: (@Sendable (Log, any Error) async throws -> Void)? = nil
                ) throws -> PreciseTimer {
                    try PreciseTimer.schedule(
                        .once(after: .zero),
                        on: virtual.service,
                        target: log,
                        onEnd: onEnd,
                        onError: onError
                    ) { _, _ in
                        await mayThrow.pass()
                        throw Trouble()
                    }
                }
                _ = try schedule(onEnd: { _ in })
                _ = try schedule(onError: { _, _ in })
                _ = try schedule(onError: { _, error in throw error })
                // Its end came before its error.
                let cancelled = try schedule()
                virtual.advanceWithoutSettling(by: .zero)
                #expect(await soon { cancelled.runningSince != nil })
                cancelled.cancel()
                mayThrow.open()
                await virtual.advance(by: .zero)
            }
        )
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).isEmpty)
    }

    @Test func aProcessWhoseMainActorDoesNotRunIsTold() async throws {
        await #expect(processExitsWith: .success) {
            let (log, said) = (Log(), try TemporaryFile())
            dup2(said.handle.fileDescriptor, 2)
            // As in a program that never runs its main loop.
            DispatchQueue.main.async { pause(.seconds(Hang.seconds)) }
            try PreciseTimer.schedule(.once(after: .zero), deliver: .mainActor, target: log) { $0.note($1) }
            let message = "a tick has waited for 5 s for the main actor, which does not run"
            #expect(eventually { (try? said.text.contains(message)) == true })
            // The main queue never gets to the exit of the process.
            _exit(0)
        }
    }
}

/// Two places. Inside an exit test all places have one line.
private func dropHandles(on service: TimerService) throws {
    _ = try PreciseTimer.schedule(.every(.seconds(1)), on: service) { _, _ in }
    _ = try PreciseTimer.schedule(.every(.seconds(1)), on: service) {}
}
#endif
