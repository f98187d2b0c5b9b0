import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

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
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        let refusal = "PreciseTimer: PreciseTimerTests/ShutdownTests.swift:"
        let lines = said.split(separator: "\n").filter { $0.contains(": a shared service was not shut down") }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix(refusal) })
        #else
        _ = result
        #endif
    }
    #endif

    /// A service ends its timers one after another, the oldest last, and finalizes some in between.
    @Test func aTimerThatItsServiceIsAboutToEndSaysSo() throws {
        let (virtual, bag, answers, log) = (VirtualTime(), TimerBag(), Notes<TimerError>(), Log())
        let oldest = try PreciseTimer.schedule(.onDemand, on: virtual.service, target: log) { $0.note($1) }
        for _ in 0..<64 {
            try PreciseTimer.schedule(
                .every(.seconds(1)),
                on: virtual.service,
                onEnd: { _ in
                    do throws(TimerError) { try oldest.reschedule(.once(after: .zero)) } catch { answers.append(error) }
                },
                handler: { _, _ in }
            )
            .store(in: bag)
        }
        virtual.service.shutdown()
        #expect(Set(answers.all.map(\.code)) == [.timerEnded])
        #expect(answers.all.first?.attempted.contains("is about to, because its service ends") == true)
        bag.cancelAll()
    }

    @Test(arguments: Ground.all)
    func onlyOneCallEndsAService(ground: Ground) async throws {
        let site = try ground.site()
        #expect(site.service.shutdown())
        #expect(!site.service.shutdown())
        #expect(await !site.service.shutdownAndWait())
    }

    @Test(arguments: Ground.all, [DeliveryKind.inline, .serialQueue, .actor])
    func aShutdownWaitsForRunningHandlers(ground: Ground, kind: DeliveryKind) async throws {
        // A virtual service delivers inline ticks on the thread that moves the time.
        if case .virtual = ground, kind == .inline { return }
        let (site, place) = (try ground.site(), Place(kind))
        let (isInside, mayReturn, hasReturned) = (Gate(), Gate(), Gate())
        let (target, endings) = (Log(), Notes<PreciseTimer.EndReason>())
        let timer = try place.schedule(.once(after: .zero), on: site.service, target: target, onEnd: endings.append) {
            _ in
            isInside.open()
            mayReturn.pass()
            hasReturned.open()
        }
        site.virtual?.advanceWithoutSettling(by: .zero)
        await isInside.pass()
        let service = site.service
        let isOver = Gate()
        let task = Task {
            let isEnding = await service.shutdownAndWait()
            isOver.open()
            return isEnding
        }
        #expect(await soon { timer.state == .ended(.serviceShutDown) })
        #expect(!isOver.isPassable)
        mayReturn.open()
        #expect(await task.value)
        #expect(hasReturned.isPassable)
        #expect(endings.all == [.serviceShutDown], "it is finalized before the return")
    }

    /// The other timer's `onEnd` lets the handler return while the shutdown is ending timers.
    @Test(arguments: [DeliveryKind.serialQueue, .actor])
    func aShutdownWaitsForAFarewellThatBeginsMeanwhile(kind: DeliveryKind) async throws {
        let (service, place, target) = (try TimerService(.usual), Place(kind), Log())
        let (isInside, mayReturn, isEnding, mayEnd) = (Gate(), Gate(), Gate(), Gate())
        let (hasEnded, isOver) = (Gate(), Gate())
        let timer = try place.schedule(
            .once(after: .zero),
            on: service,
            target: target,
            onEnd: { _ in
                isEnding.open()
                mayEnd.pass()
                hasEnded.open()
            },
            handler: { _ in
                isInside.open()
                mayReturn.pass()
            }
        )
        await isInside.pass()
        try PreciseTimer.schedule(
            .onDemand,
            on: service,
            target: target,
            onEnd: { _ in
                mayReturn.open()
                isEnding.pass()
            },
            handler: { _, _ in }
        )
        let task = Task {
            await service.shutdownAndWait()
            isOver.open()
        }
        await isEnding.pass()
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(50))
        #expect(!isOver.isPassable)
        mayEnd.open()
        await task.value
        #expect(hasEnded.isPassable)
        #expect(timer.state == .ended(.serviceShutDown))
    }

    @Test(
        arguments: [DeliveryKind.inline, .serialQueue, .actor],
        [.cancelled, .serviceShutDown] as [PreciseTimer.EndReason]
    )
    func aShutdownWaitsForTheHandlersOfEndedTimers(kind: DeliveryKind, ending: PreciseTimer.EndReason) async throws {
        let (service, place, target) = (try TimerService(.usual), Place(kind), Log())
        let (isInside, mayReturn, hasReturned, isOver) = (Gate(), Gate(), Gate(), Gate())
        let timer = try place.schedule(.every(.milliseconds(1)), on: service, target: target) { _ in
            isInside.open()
            mayReturn.pass()
            hasReturned.open()
        }
        await isInside.pass()
        if ending == .cancelled { timer.cancel() } else { service.shutdown() }
        #expect(timer.state == .ended(ending))
        let task = Task {
            let isEnding = await service.shutdownAndWait()
            isOver.open()
            return isEnding
        }
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(50))
        #expect(!isOver.isPassable)
        mayReturn.open()
        #expect(await task.value == (ending == .cancelled))
        #expect(hasReturned.isPassable)
    }

    /// More handlers than one hold of the lock asks for.
    @Test func aShutdownWaitsForManyHandlers() async throws {
        let (service, begun, ended) = (try TimerService(.usual), Notes<Int>(), Notes<Int>())
        let mayReturn = Gate()
        let things = (0..<200).map { _ in Patient() }
        for thing in things {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: thing) { _, _ in
                begun.append(1)
                await mayReturn.pass()
                ended.append(1)
            }
        }
        #expect(await soon { begun.all.count == 200 })
        async let isEnding = service.shutdownAndWait()
        #expect(await soon { service.activeTimers.isEmpty })
        #expect(ended.all.isEmpty)
        mayReturn.open()
        #expect(await isEnding)
        #expect(ended.all.count == 200)
        withExtendedLifetime(things) {}
    }

    /// Handlers of the whole list, not only of the part that the last hold of the lock asks for.
    @Test func aShutdownWaitsForTheFirstOfManyHandlers() async throws {
        let (service, begun, ended) = (try TimerService(.usual), Count(), Count())
        let (mayReturn, mayReturnLast, isOver) = (Gate(), Gate(), Gate())
        let things = (0..<200).map { _ in Patient() }
        for thing in things {
            try PreciseTimer.schedule(.once(after: .zero), on: service, target: thing) { _, _ in
                // This handler is among the first in the service's list of running ones.
                let gate = begun.add(1) == 1 ? mayReturnLast : mayReturn
                await gate.pass()
                ended.add(1)
            }
        }
        #expect(await soon { begun.value == 200 })
        let task = Task {
            await service.shutdownAndWait()
            isOver.open()
        }
        #expect(await soon { service.activeTimers.isEmpty })
        mayReturn.open()
        #expect(await soon { ended.value == 199 })
        // Long enough for a call that does not wait.
        try await Task.sleep(for: .milliseconds(20))
        #expect(!isOver.isPassable)
        mayReturnLast.open()
        await task.value
        #expect(ended.value == 200)
        withExtendedLifetime(things) {}
    }

    private actor Patient {}

    @Test func aShutdownFromInsideAHandlerDoesNotWaitForIt() async throws {
        let service = try TimerService(.usual)
        let worker = Worker(service)
        try PreciseTimer.schedule(.once(after: .zero), on: service, target: worker) { worker, _ in await worker.end() }
        while await !worker.hasEnded { try await Task.sleep(for: .milliseconds(1)) }
        #expect(service.activeTimers.isEmpty)
    }

    private actor Worker {
        let service: TimerService
        var hasEnded = false

        init(_ service: TimerService) { self.service = service }

        func end() async {
            await service.shutdownAndWait()
            hasEnded = true
        }
    }

    @Test func aBagEndsAllItsTimersBeforeItWaitsForTheirHandlers() async throws {
        let (service, bag, target) = (try TimerService(.usual), TimerBag(), Thing())
        let (isInside, mayReturn) = (Gate(), Gate())
        let queue = DispatchQueue(label: "test.bag")
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, deliver: .queue(queue), target: target) {
            _,
            _ in
            isInside.open()
            mayReturn.pass()
        }
        .store(in: bag)
        let other = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: target) { _, _ in }
        other.store(in: bag)
        await isInside.pass()
        let task = Task { await bag.cancelAllAndWait() }
        #expect(await soon { other.state == .ended(.cancelled) }, "while the handler of the first one runs")
        mayReturn.open()
        await task.value
        service.shutdown()
    }

    @Test func aBagWaitsForTheHandlersOfItsTimersOnly() async throws {
        let (service, bag) = (try TimerService(.usual), TimerBag())
        let (isInside, mayReturn, hasReturned) = (Gate(), Gate(), Gate())
        let (target, log) = (Thing(), Log())
        let queue = DispatchQueue(label: "test.bag")
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, deliver: .queue(queue), target: target) {
            _,
            _ in
            isInside.open()
            mayReturn.pass()
            hasReturned.open()
        }
        .store(in: bag)
        let other = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, target: log) { $0.note($1) }
        await isInside.pass()
        let isOver = Gate()
        let task = Task {
            await bag.cancelAllAndWait()
            isOver.open()
        }
        #expect(await soon { bag.count == 0 })
        #expect(!isOver.isPassable)
        mayReturn.open()
        await task.value
        #expect(hasReturned.isPassable)
        #expect(other.state == .scheduled)
        service.shutdown()
    }
}
