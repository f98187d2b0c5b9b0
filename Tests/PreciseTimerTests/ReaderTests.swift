// Calls whose caller needs the answer now: a reader of a timer without a target, and a wait that blocks its thread.
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A reader is told that a released target is an end, and ends nothing. What a reader was told stays true.
struct ReaderTests {
    private let virtual = VirtualTime()
    private let ends = Notes<PreciseTimer.EndReason>()

    /// A timer whose target was released, and which the service has not found.
    private func orphan() throws -> PreciseTimer {
        let (every, service) = (PreciseTimer.Schedule.every(.seconds(10)), virtual.service)
        return try PreciseTimer.schedule(every, on: service, label: "orphan", target: Log(), onEnd: ends.append) {
            $0.note($1)
        }
    }

    @Test func noReaderEndsATimer() throws {
        let (timer, bag) = (try orphan(), TimerBag())
        timer.store(in: bag, named: "clock")
        #expect("\(timer)".hasSuffix(": scheduled, every 10 s") && virtual.pendingCount == 1 && ends.all == [])
        #expect(timer.state == .ended(.targetReleased) && timer.hasEnded && bag.count == 0 && bag["clock"] == nil)
        #expect("\(timer)".hasSuffix(": ended: target released"))
        #expect(virtual.pendingCount == 1 && ends.all.isEmpty, "the rest is left to the service")
        virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0 && ends.all == [.targetReleased] && timer.state == .ended(.targetReleased))
    }

    @Test func aTimerThatWasReadAsEndedSaysSoAndEndsForThatReason() async throws {
        let timers = [try orphan(), try orphan()]
        #expect(timers.map(\.hasEnded) == [true, true])
        let error = refusal { try timers[0].reschedule(.every(.seconds(1))) }
        #expect(["has ended, target released (", ".onDemand"].allSatisfy { error?.attempted.contains($0) == true })
        let (isFinishing, isEnding) = (try await timers[0].finish(), await timers[1].cancelAndWait())
        #expect(!isFinishing && !isEnding && ends.all == [.targetReleased, .targetReleased])
    }

    /// The target's `deinit` runs inside the delivery, and reads the timer.
    @Test func aTargetThatDiesInItsHandlerCannotMakeItsTimerGoOn() throws {
        let (box, held, refused) = (Box<PreciseTimer>(), Box<Thing>(), Count())
        let every = PreciseTimer.Schedule.every(.seconds(1))
        held.value = Thing {
            #expect(box.value?.hasEnded == true)
            do { try box.value?.reschedule(every) } catch { refused.add(1) }
        }
        box.value = try PreciseTimer.schedule(every, on: virtual.service, target: try #require(held.value)) { _, _ in
            held.value = nil
        }
        virtual.advance(by: .seconds(3))
        #expect(refused.value == 1 && box.value?.state == .ended(.targetReleased))
    }

    @Test func anErrorNamesNoTimerThatWasReadAsEnded() async throws {
        let (bag, queue) = (TimerBag(), SuspendedQueue())
        defer { queue.letRun() }
        let ended = try orphan().store(in: bag)
        let (service, every) = (virtual.service, PreciseTimer.Schedule.every(.seconds(1)))
        try PreciseTimer.schedule(every, on: service, deliver: .queue(queue.queue), label: "stuck", target: queue) {
            _,
            _ in
        }
        .store(in: bag)
        #expect(ended.hasEnded)
        let error = await #expect(throws: TimerError.self) { try await bag.finishAll(within: .milliseconds(20)) }
        #expect(error?.code == .lastTickPending)
        #expect(["stuck", "orphan"].filter { error?.attempted.contains($0) == true } == ["stuck"])
    }
}

/// The blocking `cancelAndWait()` on the executor that the running handler needs, where waiting would never end.
@Suite(.waits("processes of their own wait for handlers"), .timeLimit(.minutes(60))) struct BlockingWaitTests {
    /// A debug build stops at the call. A release build returns from it.
    #if DEBUG
    private static let outcome = ExitTest.Condition.failure
    #else
    private static let outcome = ExitTest.Condition.success
    #endif

    @Test func onTheHandlersActorAndTheMainActorItDoesNotWait() async throws {
        let results = [
            try await #require(processExitsWith: Self.outcome, observing: [\.standardErrorContent]) {
                try await Meter().run(onMainActor: true)
            },
            try await #require(processExitsWith: Self.outcome, observing: [\.standardErrorContent]) {
                try await Meter().run(onMainActor: false)
            },
        ]
        #if DEBUG
        let message = [
            "\(#fileID):", "cancelAndWait() blocks the actor on which the running handler must return",
            "`await timer.cancelAndWait()`",
        ]
        let said = results.map { String(decoding: $0.standardErrorContent, as: UTF8.self) }
        #expect(said.allSatisfy { text in message.allSatisfy(text.contains) }, "\(said)")
        #else
        _ = results
        #endif
    }

    /// The actor of the caller is not that of the handler.
    @Test func aCallOnAnotherActorWaits() async throws {
        let (meter, other, isRunning, hasReturned) = (Meter(), Meter(), Gate(), Gate())
        let timer = try PreciseTimer.schedule(.once(after: .zero), target: meter) { _, _ in
            isRunning.open()
            try? await Task.sleep(for: .milliseconds(20))
            hasReturned.open()
        }
        await isRunning.pass()
        _ = await other.end(timer)
        #expect(hasReturned.isPassable)
    }

    /// A handler that the calling thread is inside of needs no other executor.
    @Test func aCallInsideTheHandlerReturnsAtOnce() async throws {
        let (meter, log, box) = (Meter(), Notes<Bool>(), Box<PreciseTimer>())
        box.value = try PreciseTimer.schedule(.once(after: .zero), paused: true, target: meter) { meter, _ in
            await Task.yield()
            if let timer = box.value { log.append(meter.end(timer)) }
        }
        box.value?.resume()
        #expect(await soon { !log.all.isEmpty })
        #expect(log.all == [true])
        box.value = nil
    }
}

private actor Meter {
    /// Ends a timer, while its handler awaits on an actor, from a synchronous function on that actor.
    func run(onMainActor isMain: Bool) async throws {
        let isRunning = Gate()
        let rest: @Sendable () async -> Void = {
            isRunning.open()
            try? await Task.sleep(for: .seconds(3_600))
        }
        let timer =
            isMain
            ? try PreciseTimer.schedule(.once(after: .zero), target: isRunning) { @MainActor _, _ in await rest() }
            : try PreciseTimer.schedule(.once(after: .zero), target: self) { _, _ in await rest() }
        await isRunning.pass()
        let hasEnded = isMain ? await MainActor.run { timer.cancelAndWait() } : end(timer)
        precondition(hasEnded && timer.state == .ended(.cancelled))
    }

    func end(_ timer: PreciseTimer) -> Bool { timer.cancelAndWait() }
}
