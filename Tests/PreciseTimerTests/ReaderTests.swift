import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A reader is told that a released target is an end, and ends nothing. What a reader was told stays true.
struct ReaderTests {
    private let virtual = VirtualTime()
    private let ends = Notes<PreciseTimer.EndReason>()

    /// A timer whose target was released, and which the service has not found.
    private func orphan(paused: Bool = false) throws -> PreciseTimer {
        try PreciseTimer.schedule(
            .every(.seconds(10)),
            on: virtual.service,
            label: "orphan",
            paused: paused,
            target: Log(),
            onEnd: { [ends] in ends.append($0) },
            handler: { _, _ in }
        )
    }

    @Test func noReaderEndsATimer() throws {
        let (timer, bag) = (try orphan(), TimerBag())
        timer.store(in: bag, named: "clock")
        #expect(timer.state == .ended(.targetReleased) && timer.hasEnded)
        #expect(bag.count == 0 && bag["clock"] == nil)
        #expect("\(timer)".hasSuffix(": ended: target released"))
        #expect(virtual.pendingCount == 1 && ends.all.isEmpty, "the rest is left to the service")
        virtual.advance(by: .seconds(1))
        #expect(virtual.pendingCount == 0 && ends.all == [.targetReleased])
        #expect(timer.state == .ended(.targetReleased))
    }

    @Test func aTimerThatWasReadAsEndedTakesNoOrders() async throws {
        for paused in [false, true] {
            let timer = try orphan(paused: paused)
            #expect(timer.hasEnded)
            #expect(!timer.cancel() && !timer.pause() && !timer.resume() && !timer.fire() && !timer.restart())
            #expect(throws: TimerError.self) { try timer.reschedule(.every(.seconds(1))) }
            let error = #expect(throws: TimerError.self) { try timer.reschedule(.every(.seconds(1)), keeping: .phase) }
            #expect(error?.code == .timerEnded)
            #expect(error?.attempted.contains("target released") == true)
            #expect(try await timer.finish() == false)
            let isEnding = await timer.cancelAndWait()
            #expect(!isEnding)
            #expect(timer.state == .ended(.targetReleased))
        }
        await virtual.advance(by: .seconds(1))
        #expect(ends.all == [.targetReleased, .targetReleased])
    }

    @Test func aCancelReleasesWhatTheHandlerCaptured() throws {
        var captured: Log? = Log()
        weak let seen = captured
        let timer = try PreciseTimer.schedule(
            .every(.seconds(10)),
            on: virtual.service,
            target: Log(),
            onEnd: { [ends] in ends.append($0) },
            handler: { [captured] _, tick in captured?.note(tick) }
        )
        captured = nil
        #expect(timer.hasEnded && seen != nil)
        #expect(!timer.cancel())
        #expect(seen == nil && virtual.pendingCount == 0 && ends.all == [.targetReleased])
    }

    /// The target's `deinit` runs inside the delivery, and reads the timer.
    @Test func aTargetThatDiesInItsHandlerCannotMakeItsTimerGoOn() throws {
        let (box, held, refused) = (Box<PreciseTimer>(), Box<Mourner>(), Count())
        held.value = Mourner {
            #expect(box.value?.hasEnded == true)
            do { try box.value?.reschedule(.every(.seconds(1))) } catch { refused.add(1) }
        }
        box.value = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(held.value)
        ) { _, _ in held.value = nil }
        virtual.advance(by: .seconds(3))
        #expect(refused.value == 1 && box.value?.state == .ended(.targetReleased))
    }

    @Test func anErrorNamesNoTimerThatWasReadAsEnded() async throws {
        let (bag, queue) = (TimerBag(), SuspendedQueue())
        defer { queue.letRun() }
        let ended = try orphan().store(in: bag)
        let stuck = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            deliver: .queue(queue.queue),
            label: "stuck",
            target: queue
        ) { _, _ in }
        stuck.store(in: bag)
        #expect(ended.hasEnded)
        let error = await #expect(throws: TimerError.self) { try await bag.finishAll(within: .milliseconds(20)) }
        #expect(error?.code == .lastTickPending)
        #expect(error?.attempted.contains("stuck") == true)
        #expect(error?.attempted.contains("orphan") == false)
    }

    @Test func aShutdownEndsItForTheReasonThatWasRead() throws {
        let timer = try orphan()
        #expect(timer.state == .ended(.targetReleased))
        virtual.service.shutdown()
        #expect(timer.state == .ended(.targetReleased) && ends.all == [.targetReleased])
    }

    @Test func whatNobodyHasReadIsEndedByACancel() throws {
        let timer = try orphan()
        #expect(timer.cancel())
        #expect(timer.state == .ended(.cancelled) && ends.all == [.cancelled])
    }
}

/// Calls a function when it is released.
private final class Mourner: Sendable {
    private let onRelease: @Sendable () -> Void

    init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

    deinit { onRelease() }
}
