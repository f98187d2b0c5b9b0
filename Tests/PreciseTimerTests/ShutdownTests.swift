import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// The end of a service with all its timers, and of all timers in a bag.
@Suite(.waits("a shutdown waits for handlers on other threads"), .timeLimit(.minutes(60))) struct ShutdownTests {
    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: TimerService.Backend.available)
    func aSharedServiceIsNotShutDownByAccident(backend: TimerService.Backend) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            [backend] in
            let (service, log) = (backend.shared, Log())
            let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            precondition(service.shutdown() == false)
            let isEnded = await service.shutdownAndWait()
            precondition(!isEnded && timer.state == .scheduled)
            let before = log.count
            precondition(eventually { log.count > before + 3 })
            precondition(service.shutdownForEveryone())
            precondition(timer.state == .ended(.serviceShutDown))
            // The next schedule starts it again.
            let next = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
            let count = log.count
            precondition(eventually { log.count > count + 3 })
            next.cancel()
        }
        #if DEBUG
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
            .filter { $0.contains(": a shared service was not shut down") }
        let place = "PreciseTimer: PreciseTimerTests/ShutdownTests.swift:"
        #expect(lines.map { $0.hasPrefix(place) } == [true, true])
        #else
        _ = result
        #endif
    }
    #endif

    /// A service ends its timers one after another, the oldest last, and finalizes some in between.
    @Test(arguments: [PreciseTimer.Schedule.every(.seconds(9)), .computed { $0.advanced(by: .seconds(9)) }])
    func aTimerThatItsServiceIsAboutToEndTakesNoScheduleAndSaysSo(schedule: PreciseTimer.Schedule) throws {
        let (virtual, answers, log) = (VirtualTime(), Notes<TimerError>(), Log())
        let oldest = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        for _ in 0..<64 {
            try PreciseTimer.schedule(
                .every(.seconds(1)),
                on: virtual.service,
                target: log,
                onEnd: { _ in refusal { try oldest.reschedule(schedule) }.map(answers.append) },
                handler: { $0.note($1) }
            )
        }
        virtual.service.shutdown()
        #expect(answers.all.count == 64 && Set(answers.all.map(\.code)) == [.timerEnded])
        #expect(answers.all.first?.attempted.contains("is about to, because its service ends") == true)
        #expect(virtual.pendingCount == 0)
    }

    /// The timer goes on until the shutdown that is awaited, or had ended before.
    private static let endings: [(kind: DeliveryKind, before: PreciseTimer.EndReason?)] = [
        DeliveryKind.inline, .serialQueue, .actor,
    ]
    .flatMap { kind in [(kind, nil), (kind, .cancelled), (kind, .serviceShutDown)] }

    @Test(arguments: Ground.all, endings.indices)
    func aShutdownWaitsForRunningHandlers(ground: Ground, number: Int) async throws {
        let (kind, before) = Self.endings[number]
        // A virtual service delivers inline ticks on the thread that moves the time.
        if case .virtual = ground, kind == .inline { return }
        let (site, place) = (try ground.site(), Place(kind))
        let (service, log, isInside, mayReturn, hasReturned) = (site.service, Log(), Gate(), Gate(), Gate())
        let endings = Notes<PreciseTimer.EndReason>()
        let timer = try place.schedule(.once(after: .zero), on: service, target: log, onEnd: endings.append) { _ in
            isInside.open()
            mayReturn.pass()
            hasReturned.open()
        }
        site.virtual?.advanceWithoutSettling(by: .zero)
        await isInside.pass()
        if before == .cancelled { timer.cancel() }
        if before == .serviceShutDown { service.shutdown() }
        // A call that does not wait returns before the gate is opened. It may not wait for the `onEnd` of other calls.
        let task = Task.immediate {
            let isEnding = await service.shutdownAndWait()
            return [isEnding, hasReturned.isPassable, before != nil || endings.all == [.serviceShutDown]]
        }
        #expect(timer.state == .ended(before ?? .serviceShutDown))
        mayReturn.open()
        #expect(await task.value == [before != .serviceShutDown, true, true])
        let again = await service.shutdownAndWait()
        #expect(!service.shutdown() && !again, "only one call ends a service")
    }

    /// Handlers of the whole list, not only of the part that one hold of the lock asks for. The late one is among the
    /// first or the last in the service's list of running ones.
    @Test(arguments: [1, 200]) func aShutdownWaitsForEachOfManyHandlers(late: Int) async throws {
        let (service, begun, ended) = (try TimerService(.usual), Count(), Count())
        let (mayReturn, mayReturnLate, isOver) = (Gate(), Gate(), Gate())
        let things = (0..<200).map { _ in Thing() }
        for thing in things {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: thing) { _, _ in
                let gate = begun.add(1) == late ? mayReturnLate : mayReturn
                await gate.pass()
                ended.add(1)
            }
        }
        #expect(await soon { begun.value == 200 })
        let task = Task.immediate {
            let isEnding = await service.shutdownAndWait()
            isOver.open()
            return isEnding
        }
        #expect(service.activeTimers.isEmpty)
        mayReturn.open()
        #expect(await soon { ended.value == 199 })
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(200))
        #expect(!isOver.isPassable)
        mayReturnLate.open()
        #expect(await task.value && ended.value == 200)
        withExtendedLifetime(things) {}
    }

    @Test func aShutdownFromInsideAHandlerDoesNotWaitForIt() async throws {
        let (service, log, isOver) = (try TimerService(.usual), Log(), Gate())
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: log) { _, _ in
            await service.shutdownAndWait()
            isOver.open()
        }
        await isOver.pass()
        #expect(service.activeTimers.isEmpty)
    }
}

/// A service that other code shuts down while it is being started, and that can start again.
struct StartRaceTests {
    @Test(arguments: [false, true]) func itIsStartedAgain(hasHandler: Bool) async throws {
        let (starts, box, log) = (Count(), Box<TimerService>(), Log())
        let service = TimerService(
            startedOnUse: {
                if starts.add(1) <= 2 { box.value?.shutdownForEveryone() }
                return ManualAlarm()
            }
        )
        box.value = service
        if hasHandler {
            let timer = try PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { $0.note($1) }
            #expect(timer.state == .scheduled)
        } else {
            #expect(try await withTimeout(.seconds(1), on: service) { 7 } == 7)
        }
        #expect(starts.value == 3)
        box.value = nil
        service.shutdownForEveryone()
    }
}
