import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Every timer ends once, for one reason, and `onEnd` is called once: what can be exact, on virtual time.
struct OnEndTests {
    typealias OnEnd = @Sendable (PreciseTimer.EndReason) -> Void

    private let virtual = VirtualTime()
    private let log = Log()

    /// Schedules a timer that is due in a second.
    @discardableResult private func schedule(onEnd: @escaping OnEnd) throws -> PreciseTimer {
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: log, onEnd: onEnd) {
            $0.note($1)
        }
    }

    /// The ways in which a timer ends.
    enum Way: String, CaseIterable {
        case cancel, cancelAndWait, shutdown, handle, target, targetInHandler, handlersCancel, lastTick

        /// What is heard of a timer whose first tick is delivered, if that ends it.
        var events: [String] {
            switch self {
            case .cancel, .cancelAndWait: ["released", "cancelled", "onEnd released"]
            case .shutdown: ["released", "service shut down", "onEnd released"]
            case .handle: ["released", "handle released", "onEnd released"]
            case .target: ["target gone", "released", "target released", "onEnd released"]
            case .targetInHandler: ["returns", "target gone", "released", "target released", "onEnd released"]
            case .handlersCancel: ["returns", "released", "cancelled", "onEnd released"]
            case .lastTick: ["returns", "released", "completed", "onEnd released"]
            }
        }
    }

    /// The captures of the handler are released before `onEnd` is called, and those of `onEnd` after it. A `deinit` may
    /// use the service: under its lock, that would end the process.
    @Test(arguments: Way.allCases) func capturesAreReleasedAroundTheOneCallOfOnEnd(way: Way) throws {
        let (events, target, timer) = (Notes<String>(), Box<Thing>(), Box<PreciseTimer>())
        let thing = { [virtual] (event: String?) in
            Thing {
                _ = virtual.service.activeTimers
                if let event { events.append(event) }
            }
        }
        let schedule = PreciseTimer.Schedule.every(.seconds(1), count: way == .lastTick ? 1 : nil)
        do {
            let (captured, heard) = (thing("released"), thing("onEnd released"))
            let onEnd: OnEnd = { reason in
                withExtendedLifetime(heard) { events.append("\(reason)") }
            }
            let handler: @Sendable () -> Void = { [weak timer] in
                withExtendedLifetime(captured) {
                    if way == .handlersCancel { timer?.value?.cancel() }
                    if way == .targetInHandler { target.value = nil }
                    events.append("returns")
                }
            }
            if way == .handle {
                timer.value = try PreciseTimer.schedule(schedule, on: virtual.service, onEnd: onEnd) { _, _ in handler()
                }
            } else {
                let thing = thing(way == .target || way == .targetInHandler ? "target gone" : nil)
                target.value = thing
                timer.value = try PreciseTimer.schedule(schedule, on: virtual.service, target: thing, onEnd: onEnd) {
                    _,
                    _ in handler()
                }
            }
        }
        switch way {
        case .cancel: #expect(timer.value?.cancel() == true)
        case .cancelAndWait: #expect(timer.value?.cancelAndWait() == true)
        case .shutdown: virtual.service.shutdown()
        case .handle: timer.value = nil
        case .target: target.value = nil
        case .targetInHandler, .handlersCancel, .lastTick: break
        }
        if [.cancel, .cancelAndWait, .shutdown, .handle].contains(way) { #expect(events.all == way.events, "at once") }
        virtual.advance(by: .seconds(1))
        if way == .targetInHandler { virtual.advance(by: .seconds(1)) }
        #expect(events.all == way.events)
        #expect(timer.value?.cancel() != true && timer.value?.cancelAndWait() != true)
        virtual.advance(by: .seconds(3))
        virtual.service.shutdown()
        #expect(events.all == way.events && virtual.pendingCount == 0, "once")
        (target.value, timer.value) = (nil, nil)
    }

    @Test func aRefusedScheduleNeverCallsOnEnd() throws {
        let (refusing, ends) = (try TimerService(alarm: RefusingAlarm(settings: 0, starts: true)), Count())
        let onEnd: OnEnd = { _ in ends.add(1) }
        for (service, period) in [(refusing, Duration.seconds(1)), (virtual.service, .zero)] {
            #expect(throws: TimerError.self) {
                try PreciseTimer.schedule(.every(period), on: service, target: log, onEnd: onEnd) { $0.note($1) }
            }
        }
        #expect(ends.value == 0)
    }

    /// The first of five due timers cancels the second and the fourth, and the third one the fifth and itself.
    @Test func dueSiblingsThatAreCancelledEndAtOnceAndDoNotRun() throws {
        let (events, timers, victims) = (Notes<String>(), Box<[PreciseTimer]>(), [0: [1, 3], 2: [4, 2]])
        timers.value = try (0..<5)
            .map { number in
                let captured = Thing { events.append("\(number) released") }
                return try PreciseTimer.schedule(
                    .once(after: .seconds(1)),
                    on: virtual.service,
                    target: log,
                    onEnd: { events.append("\(number) \($0)") },
                    handler: { _, _ in
                        events.append("\(number) runs")
                        for victim in victims[number] ?? [] { timers.value?[victim].cancel() }
                        withExtendedLifetime(captured) { events.append("\(number) returns") }
                    }
                )
            }
        virtual.advance(by: .seconds(2))
        #expect(
            events.all == [
                "0 runs", "1 released", "1 cancelled", "3 released", "3 cancelled", "0 returns", "0 released",
                "0 completed",
                "2 runs", "4 released", "4 cancelled", "2 returns", "2 released", "2 cancelled",
            ]
        )
        #expect(virtual.pendingCount == 0)
        timers.value = nil
    }

    /// Nothing is decided about the next due timer before `onEnd` of the last one was called.
    @Test func onEndMayEndADueSibling() throws {
        let (sibling, reasons) = (Box<PreciseTimer>(), Notes<PreciseTimer.EndReason>())
        try schedule { _ in sibling.value?.cancel() }
        sibling.value = try schedule(onEnd: reasons.append)
        virtual.advance(by: .seconds(1))
        #expect(reasons.all == [.cancelled] && log.count == 1)
    }

    @Test func onEndMayScheduleAnotherTimer() throws {
        let (service, log) = (virtual.service, log)
        try schedule { _ in
            _ = try? PreciseTimer.schedule(.once(after: .seconds(1)), on: service, target: log) { $0.note($1) }
        }
        virtual.advance(by: .seconds(2))
        #expect([log.count, virtual.pendingCount] == [2, 0])
    }
}

/// Promise 9, on every backend and on virtual time: one ending, for one reason, reported once, and awaited by
/// `cancelAndWait`.
@Suite(.waits("every backend ends a timer by itself"), .timeLimit(.minutes(60))) struct EveryEndingTests {
    private let target = Thing()

    /// One of them is paused.
    @Test(arguments: Ground.all)
    func aShutdownCallsOnEndOnceForEachTimer(ground: Ground) throws {
        let (site, reasons) = (try ground.site(), Notes<PreciseTimer.EndReason>())
        let every = PreciseTimer.Schedule.every(.milliseconds(1))
        let timers = try (0..<10)
            .map { _ in
                try PreciseTimer.schedule(every, on: site.service, target: target, onEnd: reasons.append) { _, _ in }
            }
        timers[1].pause(keeping: .grid)
        site.pass(.milliseconds(3))
        for _ in 0..<2 { site.service.shutdown() }
        #expect(site.until { reasons.all.count == 10 }, "after running handlers have returned")
        for timer in timers { timer.cancel() }
        #expect(reasons.all == Array(repeating: .serviceShutDown, count: 10))
    }

    /// The ways to end a timer from inside its handler.
    private static let waysInside:
        [(reason: PreciseTimer.EndReason, end: @Sendable (PreciseTimer, TimerService) -> Bool)] = [
            (.cancelled, { timer, _ in timer.cancel() }), (.cancelled, { timer, _ in timer.cancelAndWait() }),
            (.serviceShutDown, { _, service in service.shutdown() }),
            (.completed, { timer, _ in timer.state == .scheduled }),
        ]

    @Test(arguments: Ground.all, waysInside.indices)
    func anEndInsideTheHandlerIsReportedAfterItsReturn(ground: Ground, way: Int) throws {
        let (site, words) = (try ground.site(), Notes<String>())
        let (service, inside) = (site.service, Self.waysInside[way])
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(1), after: .milliseconds(5), count: inside.reason == .completed ? 1 : nil),
            on: service,
            onEnd: { words.append("\($0)") },
            handler: { timer, _ in
                let isEnding = inside.end(timer, service)
                let again = inside.reason == .completed ? false : timer.cancelAndWait()
                words.append("\(isEnding), again: \(again)")
            }
        )
        #expect(site.until { words.all.count >= 2 })
        #expect(timer.state == .ended(inside.reason) && !timer.cancel())
        site.service.shutdown()
        #expect(words.all == ["true, again: false", "\(inside.reason)"])
    }

    @Test(arguments: Ground.all)
    func cancelAndWaitWaitsForTheRunningHandlerAndOnEnd(ground: Ground) throws {
        let site = try ground.site()
        let (entered, events, held) = (Gate(), Notes<String>(), Box<PreciseTimer>())
        let timer = try PreciseTimer.schedule(
            .once(after: .milliseconds(1)),
            on: site.service,
            target: target,
            onEnd: { _ in events.append("end") },
            handler: { _, _ in
                entered.open()
                _ = eventually { held.value?.state == .ended(.cancelled) }
                pause(.milliseconds(20))
                events.append("returned")
            }
        )
        held.value = timer
        defer { held.value = nil }
        // On virtual time, handlers run on the thread that moves the time.
        try onThreads(2) { thread in
            if thread == 0 { return site.pass(.milliseconds(5)) }
            entered.pass()
            let isEnding = timer.cancelAndWait()
            events.append("waited: \(isEnding)")
        }
        #expect(events.all == ["returned", "end", "waited: true"])
    }
}

/// Ended timers leave nothing behind, even with a tick on its way.
@Suite(.waits("a queue is released by another thread"), .timeLimit(.minutes(60))) struct LeftoverTests {
    // A tick on its way holds the service's alarm.
    @Test func iterationsThatEndWithAPendingTickLeaveNothingBehind() throws {
        weak var alarm: ManualAlarm?
        do {
            let manual = ManualAlarm()
            alarm = manual
            let service = try TimerService(alarm: manual)
            for _ in 0..<10 {
                let ticks = PreciseTimer.ticks(.every(.seconds(1)), on: service).makeAsyncIterator()
                manual.move(by: .seconds(1))
                manual.fire()
                withExtendedLifetime(ticks) {}
            }
            #expect(service.pendingCount == 0)
        }
        #expect(alarm == nil)
    }

    // The record of a timer holds its queue.
    @Test func timersCancelledOnTheWayToAQueueAreForgottenWithTheirHandle() async throws {
        weak var queue: DispatchQueue?
        let virtual = VirtualTime()
        do {
            let (serial, gate) = (DispatchQueue(label: "test.leftover"), Gate())
            queue = serial
            serial.async { gate.pass() }
            let timer = try PreciseTimer.schedule(
                .once(after: .seconds(1)),
                on: virtual.service,
                deliver: .queue(serial),
                target: gate
            ) { _, _ in }
            virtual.advanceWithoutSettling(by: .seconds(1))
            timer.cancel()
            gate.open()
        }
        #expect(await soon { queue == nil })
    }

    @Test func catchingUpWithManyDeadlinesStoresNoFutureTicks() throws {
        let scene = Scene()
        scene.jump(100_000)
        try scene.timer(.every(.milliseconds(1), at: scene.at(0)), missed: .catchUp(limit: .max))
        scene.advance(0)
        #expect(scene.log.count == 100_001)
    }
}
