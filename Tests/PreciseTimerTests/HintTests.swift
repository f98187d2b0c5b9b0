#if DEBUG
import Dispatch
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

    @Test func aProcessWhoseMainActorDoesNotRunIsTold() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let log = Log()
                // As in a program that never runs its main loop.
                DispatchQueue.main.async { pause(.seconds(8)) }
                try PreciseTimer.schedule(.once(after: .zero), deliver: .mainActor, target: log) { $0.note($1) }
                pause(.seconds(6))
            }
        )
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("a tick has waited for 5 s for the main actor, which does not run"))
    }
}
#endif
