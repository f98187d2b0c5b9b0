import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Every timer ends once, for one reason, and `onEnd` is called once.
struct OnEndTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private let heard = Notes<PreciseTimer.EndReason>()

    private var hears: @Sendable (PreciseTimer.EndReason) -> Void {
        { [heard] in heard.append($0) }
    }

    @Test func onEndReportsCompletionAfterTheLastTick() throws {
        let timer = try schedule(.once(after: .seconds(1)))
        virtual.advance(by: .seconds(1))
        #expect(heard.all == [.completed])
        timer.cancel()
        virtual.service.shutdown()
        #expect(heard.all == [.completed])
    }

    @Test func onEndHasReportedTheCancelWhenItReturns() throws {
        let timer = try schedule(.every(.seconds(1)))
        virtual.advance(by: .seconds(1))
        timer.cancel()
        #expect(heard.all == [.cancelled])
        timer.cancel()
        timer.cancelAndWait()
        virtual.advance(by: .seconds(5))
        #expect(heard.all == [.cancelled])
    }

    /// A reader is told the truth, and the service finalizes the timer.
    @Test func aReleasedTargetIsReportedAtTheNextDeadlineAndByNoReader() throws {
        var target: Log? = Log()
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(target),
            onEnd: hears
        ) { $0.note($1) }
        virtual.advance(by: .seconds(1))
        target = nil
        #expect(timer.state == .ended(.targetReleased) && timer.hasEnded)
        #expect(heard.all == [])
        virtual.advance(by: .seconds(1))
        #expect(heard.all == [.targetReleased])
        virtual.advance(by: .seconds(2))
        #expect(heard.all == [.targetReleased])
    }

    @Test func aReleasedHandleIsReportedAtOnce() throws {
        var timer: PreciseTimer? = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            onEnd: hears
        ) { _, _ in }
        virtual.advance(by: .seconds(1))
        #expect(timer != nil)
        timer = nil
        #expect(heard.all == [.handleReleased])
    }

    @Test func aShutdownIsReportedToAllTimers() throws {
        let timers = try (0..<3).map { _ in try schedule(.every(.seconds(1))) }
        timers[1].pause(keeping: .grid)
        virtual.service.shutdown()
        #expect(heard.all == [.serviceShutDown, .serviceShutDown, .serviceShutDown])
        virtual.service.shutdown()
        timers[0].cancel()
        #expect(heard.all.count == 3)
    }

    @Test func aFailedBackendIsReportedToAllTimers() throws {
        let alarm = RefusingAlarm(settings: .max)
        let service = try TimerService(alarm: alarm)
        for _ in 0..<2 {
            try PreciseTimer.schedule(.once(after: .seconds(9)), on: service, target: log, onEnd: hears) {
                $0.note($1)
            }
        }
        alarm.fail()
        alarm.fail()
        service.shutdown()
        #expect(heard.all == Array(repeating: .backendFailed(RefusingAlarm.refusal), count: 2))
    }

    @Test func aRefusedScheduleNeverCallsOnEnd() throws {
        let refusing = try TimerService(alarm: RefusingAlarm(settings: 0, starts: true))
        for service in [refusing, virtual.service] {
            #expect(throws: TimerError.self) {
                try PreciseTimer.schedule(
                    service === refusing ? .every(.seconds(1)) : .every(.zero),
                    on: service,
                    target: log,
                    onEnd: hears
                ) { $0.note($1) }
            }
        }
        #expect(heard.all == [])
    }

    /// The ways to end a timer from inside its handler.
    private static let waysInside: [(String, @Sendable (PreciseTimer, TimerService) -> Void)] = [
        ("cancelled", { timer, _ in timer.cancel() }),
        ("cancelled", { timer, _ in timer.cancelAndWait() }),
        ("service shut down", { _, service in service.shutdown() }),
        ("completed", { _, _ in }),
    ]

    @Test(arguments: waysInside.indices)
    func anEndInsideTheHandlerIsReportedAfterItsReturn(way: Int) throws {
        let (service, words) = (virtual.service, Notes<String>())
        let (reason, end) = Self.waysInside[way]
        let note: @Sendable (PreciseTimer.EndReason) -> Void = { words.append("\($0)") }
        let timer = try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, onEnd: note) { timer, _ in
            end(timer, service)
            words.append("returning")
        }
        virtual.advance(by: .seconds(1))
        #expect(words.all == ["returning", reason])
        withExtendedLifetime(timer) {}
    }

    @Test func theEndOfADueSiblingIsReportedAtOnceAndOnlyOnce() throws {
        let (heard, words) = (heard, Notes<Int>())
        let sibling = Box<PreciseTimer>()
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: log) { _, _ in
            sibling.value?.cancel()
            words.append(heard.all.count)
        }
        sibling.value = try schedule(.once(after: .seconds(1)))
        virtual.advance(by: .seconds(2))
        #expect(words.all == [1])
        #expect(heard.all == [.cancelled])
        #expect(log.count == 0)
    }

    /// Nothing is decided about the next due timer before `onEnd` of the last one was called.
    @Test func onEndMayEndADueSibling() throws {
        let sibling = Box<PreciseTimer>()
        try PreciseTimer.schedule(
            .once(after: .seconds(1)),
            on: virtual.service,
            target: log,
            onEnd: { _ in sibling.value?.cancel() },
            handler: { _, _ in }
        )
        sibling.value = try schedule(.once(after: .seconds(1)))
        virtual.advance(by: .seconds(1))
        #expect(heard.all == [.cancelled])
        #expect(log.count == 0)
    }

    @Test func aCompletedTimerReleasesItsCapturesBeforeOnEnd() throws {
        let words = Notes<String>()
        try schedule(target: log, noting: words) { _ in }
        virtual.advance(by: .seconds(1))
        #expect(words.all == ["released", "completed"])
    }

    @Test func aTimerCancelledInItsHandlerReleasesItsCapturesBeforeOnEnd() throws {
        let words = Notes<String>()
        let timer = Box<PreciseTimer>()
        timer.value = try schedule(target: log, noting: words) { _ in timer.value?.cancel() }
        virtual.advance(by: .seconds(1))
        #expect(words.all == ["released", "cancelled"])
        timer.value = nil
    }

    @Test func aTimerWithAReleasedTargetReleasesItsCapturesBeforeOnEnd() throws {
        let words = Notes<String>()
        try schedule(target: Thing(), noting: words) { _ in }
        virtual.advance(by: .seconds(1))
        #expect(words.all == ["released", "target released"])
    }

    /// A timer whose handler captures an object that notes its release.
    @discardableResult
    private func schedule(
        target: some AnyObject & Sendable,
        noting words: Notes<String>,
        handler: @escaping @Sendable (PreciseTimer.Tick) -> Void
    ) throws -> PreciseTimer {
        let captured = Thing { words.append("released") }
        return try PreciseTimer.schedule(
            .once(after: .seconds(1)),
            on: virtual.service,
            target: target,
            onEnd: { words.append("\($0)") },
            handler: { _, tick in withExtendedLifetime(captured) { handler(tick) } }
        )
    }

    @Test func onEndMayScheduleAnotherTimer() throws {
        let (service, log) = (virtual.service, log)
        let goOn: @Sendable (PreciseTimer.EndReason) -> Void = { _ in
            _ = try? PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { $0.note($1) }
        }
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log, onEnd: goOn) { $0.note($1) }
        virtual.advance(by: .seconds(2))
        #expect(log.count == 2)
        #expect(virtual.pendingCount == 0)
    }

    private func schedule(_ schedule: PreciseTimer.Schedule) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log, onEnd: hears) {
            $0.note($1)
        }
    }
}
