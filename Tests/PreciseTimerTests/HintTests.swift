#if DEBUG
import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// What a debug build says on standard error about mistakes that would otherwise be silent.
@Suite(.waits("processes of their own end for these")) struct HintTests {
    /// What happens in a process of its own.
    enum Scene: CaseIterable, Codable {
        case targetsDie, handlesAreDropped, errorsAreUnheard, ticksLeaveTheirThread, handlersAreSlow
        case inlineHandlerAsksForMainActor, handlerOnAQueueAsksForMainActor
    }

    private static let said: [Scene: [String]] = [
        .targetsDie: [
            "A:1: the target of this timer was released before its first tick, which ended the timer; if that was not "
                + "intended, keep the target: the timer does not"
        ],
        .handlesAreDropped: [1, 2]
            .map {
                "A:\($0): the handle of this timer was dropped before its first tick, which ended the timer; keep the "
                    + "handle, or schedule with a target"
            },
        .errorsAreUnheard: (1...3).map { "A:\($0): \(unheard)" },
        .ticksLeaveTheirThread: (1...3).map { "A:\($0): \(leaves) spinning \(thread)" }
            + (4...6).map { "A:\($0): \(leaves) real-time \(thread)" },
        .handlersAreSlow: [
            "A:1: the handler of this timer (\"a\\nb\") ran for longer than 1 s, its period or the time that other "
                + "timers may wait for its thread, in 3 calls, once for 3.2 s: do less in it, or let it run elsewhere "
                + "(`deliver: .queue`)",
            "Place: the handler of this timer ran or awaited \(longer) use a longer period or `.fixedDelay`",
            "Place: the handler of this timer ran \(longer) do less in it, or use a longer period or `.fixedDelay`",
        ],
        .inlineHandlerAsksForMainActor: ["A:1: the handler of this timer (\"refresh\") \(asksForMainActor)"],
        .handlerOnAQueueAsksForMainActor: ["A:2: the handler of this timer \(asksForMainActor)"],
    ]

    private static let unheard =
        "the handler of this timer threw an error, which ended the timer, and nothing heard of it: Trouble(); pass "
        + "`onError:`, and the timer goes on, or `onEnd:`"
    private static let leaves =
        "the handler of this timer or its `onError` awaits, so it runs on the shared thread pool, and is later than the"
    private static let thread =
        "thread of its service; leave the `await` out, or await in a task that the handler makes"
    private static let longer =
        "for longer than its period, 1 s, in 3 calls, once for 3.2 s, so that deadlines pass without a tick;"
    private static let asksForMainActor =
        "asks for the main actor but does not run on it; isolate it, `{ @MainActor target, tick in … }`, and leave the "
        + "assumption out"

    // Swift Testing hands values to an exit test since Swift 6.3.
    #if compiler(>=6.3)
    @Test(arguments: Scene.allCases) func eachMistakeIsToldOnceForEachPlace(scene: Scene) async throws {
        let endsProcess = [.inlineHandlerAsksForMainActor, .handlerOnAQueueAsksForMainActor].contains(scene)
        let result = try await #require(
            processExitsWith: endsProcess ? .failure : .success,
            observing: [\.standardErrorContent]
        ) { [scene] in try await scene.happen() }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let (prefix, place) = ("PreciseTimer: ", /TestSupport\/Place.swift:[0-9]+/)
        let said = lines.filter { $0.hasPrefix(prefix) }
            .map { String($0.dropFirst(prefix.count)).replacing(place, with: "Place") }
        #expect(said == Self.said[scene] ?? [])
    }
    #endif

    @Test func aProcessWhoseMainActorDoesNotRunIsTold() async throws {
        await #expect(processExitsWith: .success) {
            let (log, said) = (Log(), try TemporaryFile())
            dup2(said.handle.fileDescriptor, 2)
            // As in a program that never runs its main loop.
            DispatchQueue.main.async { pause(.seconds(Hang.seconds)) }
            try PreciseTimer.schedule(.once(after: .zero), target: log) { @MainActor in $0.note($1) }
            let message = "a tick has waited for 5 s for the main actor, which does not run"
            #expect(eventually { (try? said.text.contains(message)) == true })
            // The main queue never gets to the exit of the process.
            _exit(0)
        }
    }

    /// The check for the main actor needs no key for data of threads, of which a process has 1,024.
    @Test func aDebugBuildWithoutAKeyForThreadsTicks() async {
        await #expect(processExitsWith: .success) {
            var key = pthread_key_t()
            while unsafe pthread_key_create(&key, nil) == 0 {}
            // The key with the number 0 belongs to another library, which may have given it a value on this thread.
            let (log, values) = (Log(), Notes<UInt>())
            try PreciseTimer.schedule(.every(.milliseconds(1)), target: log) { log, tick in
                let isFree = unsafe pthread_getspecific(0) == nil
                if tick.index == 0, isFree { unsafe pthread_setspecific(0, UnsafeRawPointer(bitPattern: 4_096)) }
                unsafe values.append(UInt(bitPattern: pthread_getspecific(0)))
                log.note(tick)
            }
            #expect(eventually { log.count > 2 })
            #expect(Set(values.all).count == 1 && values.all.first != 0)
        }
    }
}

private struct Trouble: Error {}

extension HintTests.Scene {
    private var once: PreciseTimer.Schedule { .once(after: .zero) }
    private var second: PreciseTimer.Schedule { .every(.seconds(1)) }

    fileprivate func happen() async throws {
        let (virtual, log) = (VirtualTime(), Log())
        let service = virtual.service
        switch self {
        case .targetsDie:
            try PreciseTimer.schedule(second, on: service, file: "A", line: 1, target: Log()) { $0.note($1) }
            // A connection may close before its time-out, and a counter may be done.
            try PreciseTimer.schedule(.once(after: .seconds(9)), on: service, target: Log()) { _, _ in }
            try PreciseTimer.schedule(.onDemand, on: service, target: Log()) { _, _ in }
            var target: Thing? = Thing()
            try PreciseTimer.schedule(second, on: service, target: #require(target)) { _, tick in log.note(tick) }
            virtual.advanceWithoutSettling(by: .seconds(1))
            target = nil
            virtual.advanceWithoutSettling(by: .seconds(20))
            #expect(log.count == 1)
        case .handlesAreDropped:
            for _ in 0..<50 {
                _ = try PreciseTimer.schedule(second, on: service, file: "A", line: 1) { _, _ in }
                _ = try PreciseTimer.schedule(second, on: service, file: "A", line: 2) {}
            }
        case .errorsAreUnheard:
            try await hearErrors(virtual, log)
            try await leaveUnheard(virtual) {
                try PreciseTimer.schedule(once, on: service, file: "A", line: 1, target: log) { _, _ in throw Trouble()
                }
            }
            try await leaveUnheard(virtual) {
                try PreciseTimer.schedule(once, on: service, file: "A", line: 2, target: log) { _, _ async throws in
                    throw Trouble()
                }
            }
            // The library itself hears of the end of such a timer.
            let computed = PreciseTimer.Schedule.computed { $0.advanced(by: .milliseconds(1)) }
            try await leaveUnheard(virtual) {
                try PreciseTimer.schedule(computed, on: .wall, file: "A", line: 3, target: log) { _, _ in
                    throw Trouble()
                }
            }
        case .ticksLeaveTheirThread:
            try stay(on: TimerService(.hybrid), log)
            try awaitTwice(on: TimerService(.timerFD), log, firstLine: 7)
            try awaitTwice(on: TimerService(.hybrid), log, firstLine: 1)
            try awaitTwice(on: TimerService(.timerFD, thread: .realTime(priority: 10)), log, firstLine: 4)
        case .handlersAreSlow:
            // The machine may hold up any handler once or twice.
            let timer = try PreciseTimer.schedule(second, on: service, target: log) { log, tick in
                log.note(tick)
                if log.count <= 2 { virtual.advance(by: .seconds(2)) }
            }
            virtual.advanceWithoutSettling(by: .seconds(20))
            #expect(service.slowHandlers.map(\.count) == [2])
            timer.cancel()
            try PreciseTimer.schedule(second, on: service, label: "a\nb", file: "A", line: 1, target: log) { _, _ in
                virtual.advance(by: .milliseconds(3_200))
            }
            for _ in 0..<5 { virtual.advanceWithoutSettling(by: .seconds(5)) }
            for kind in [DeliveryKind.actor, .serialQueue] { try await beSlow(in: Place(kind)) }
        case .inlineHandlerAsksForMainActor:
            try PreciseTimer.schedule(once, deliver: .queue(.main), target: log) { log, tick in
                MainActor.assumeIsolated { log.note(tick) }
            }
            try PreciseTimer.schedule(once, target: log) { @MainActor log, tick in
                MainActor.assumeIsolated { log.note(tick) }
            }
            #expect(await soon { log.count == 2 })
            try askForMainActor(.inline, line: 1, label: "refresh")
        case .handlerOnAQueueAsksForMainActor: try askForMainActor(.queue(DispatchQueue(label: "test")), line: 2)
        }
    }

    private func leaveUnheard(_ virtual: VirtualTime, _ schedule: () throws -> PreciseTimer) async throws {
        for _ in 0..<3 {
            let timer = try schedule()
            virtual.advanceWithoutSettling(by: .zero)
            #expect(await soon { timer.state != .scheduled })
            // A handler whose thread is held up has written nothing yet.
            await timer.cancelAndWait()
        }
    }

    /// Timers that never tick, twice at each place, whose handler or `onError` awaits.
    private func awaitTwice(on service: TimerService, _ log: Log, firstLine line: UInt) throws {
        for _ in 1...2 {
            try PreciseTimer.schedule(.onDemand, on: service, file: "A", line: line, target: log) { _, _ in
                await Task.yield()
            }
            try PreciseTimer.schedule(
                .onDemand,
                on: service,
                file: "A",
                line: line + 1,
                target: log,
                onError: { _, _ in await Task.yield() },
                handler: { _, _ in throw Trouble() }
            )
            withExtendedLifetime(
                try Debouncer(.zero, on: service, file: "A", line: line + 2, target: log) { _ in await Task.yield() }
            ) {}
        }
    }

    /// Timers that never tick, and whose handlers run in place, on a queue or on an actor.
    private func stay(on service: TimerService, _ log: Log) throws {
        try PreciseTimer.schedule(
            .onDemand,
            on: service,
            target: log,
            onError: { @MainActor _, _ in },
            handler: { _, _ in throw Trouble() }
        )
        try PreciseTimer.schedule(.onDemand, on: service, deliver: .queue(.global()), target: log) { _, _ in }
        try PreciseTimer.schedule(.onDemand, on: service, target: log) { @MainActor _, _ in await Task.yield() }
        try PreciseTimer.schedule(.onDemand, on: service, target: log) { @MainActor _, _ in }
    }

    private func hearErrors(_ virtual: VirtualTime, _ log: Log) async throws {
        let (service, mayThrow) = (virtual.service, Gate())
        let fail: @Sendable (Log, PreciseTimer.Tick) async throws -> Void = { _, _ in
            await mayThrow.pass()
            throw Trouble()
        }
        try PreciseTimer.schedule(once, on: service, target: log, onEnd: { _ in }, handler: fail)
        try PreciseTimer.schedule(once, on: service, target: log, onError: { _, _ in }, handler: fail)
        try PreciseTimer.schedule(once, on: service, target: log, onError: { throw $1 }, handler: fail)
        let failHere: @Sendable (Log, PreciseTimer.Tick) throws -> Void = { _, _ in throw Trouble() }
        try PreciseTimer.schedule(once, on: service, target: log, onError: { throw $1 }, handler: failHere)
        // Its end comes before its error.
        let cancelled = try PreciseTimer.schedule(once, on: service, target: log, handler: fail)
        virtual.advanceWithoutSettling(by: .zero)
        #expect(await soon { cancelled.runningSince != nil })
        cancelled.cancel()
        mayThrow.open()
        await virtual.advance(by: .zero)
    }

    /// Such a handler makes no other timer late, and runs elsewhere already.
    private func beSlow(in place: Place) async throws {
        let (alarm, log, own, hasEnded) = (ManualAlarm(), Log(), Box<PreciseTimer>(), Gate())
        let service = try TimerService(alarm: alarm)
        // The place calls one handler after the other, so the message is written before the fourth call.
        let timer = try place.schedule(
            .every(.seconds(1)),
            on: service,
            target: log,
            onEnd: { _ in hasEnded.open() },
            handler: { tick in
                log.note(tick)
                if log.count == 4 { own.value?.cancel() } else { alarm.move(by: .milliseconds(3_200)) }
            }
        )
        own.value = timer
        alarm.move(by: .seconds(1))
        for count in 1...4 {
            alarm.fire()
            #expect(await soon { log.count == count && timer.runningSince == nil })
        }
        await hasEnded.pass()
        #expect(log.ticks.map(\.missed) == [0, 2, 2, 2])
        own.value = nil
        service.shutdown()
    }

    private func askForMainActor(_ delivery: PreciseTimer.Delivery, line: UInt, label: String? = nil) throws {
        let log = Log()
        try PreciseTimer.schedule(
            .once(after: .zero),
            deliver: delivery,
            label: label,
            file: "A",
            line: line,
            target: log
        ) { log, tick in MainActor.assumeIsolated { log.note(tick) } }
        _ = eventually { log.count > 0 }
    }
}
#endif
