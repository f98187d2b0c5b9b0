import PreciseTimer
import TestSupport
import Testing

/// The blocking `cancelAndWait()` on the executor that the running handler needs, where waiting would never end.
@Suite(.waits("processes of their own wait for handlers"), .timeLimit(.minutes(60))) struct BlockingWaitTests {
    /// A debug build stops at the call. A release build returns from it.
    private static var outcome: ExitTest.Condition {
        #if DEBUG
        .failure
        #else
        .success
        #endif
    }

    private func expectMessage(_ result: ExitTest.Result) {
        #if DEBUG
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("BlockingWaitTests.swift:"))
        #expect(said.contains("cancelAndWait() blocks the actor on which the running handler must return"))
        #expect(said.contains("`await timer.cancelAndWait()`"))
        #endif
    }

    @Test func onTheMainActorItDoesNotWait() async throws {
        let result = try await #require(processExitsWith: Self.outcome, observing: [\.standardErrorContent]) {
            try await MainModel().run()
        }
        expectMessage(result)
    }

    @Test func onTheHandlersActorItDoesNotWait() async throws {
        let result = try await #require(processExitsWith: Self.outcome, observing: [\.standardErrorContent]) {
            try await Meter().run()
        }
        expectMessage(result)
    }

    /// The actor of the caller is not that of the handler.
    @Test func aCallOnAnotherActorWaits() async throws {
        let (other, isRunning, hasReturned) = (Meter(), Gate(), Gate())
        let meter = Meter()
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
        let (meter, log) = (Meter(), Notes<Bool>())
        let box = Box<PreciseTimer>()
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

@MainActor private final class MainModel {
    var timer: PreciseTimer?

    /// Ends its timer, while the handler awaits, from a synchronous method.
    func run() async throws {
        let isRunning = Gate()
        let timer = try PreciseTimer.schedule(.once(after: .zero), deliver: .mainActor, target: self) { _, _ in
            isRunning.open()
            try? await Task.sleep(for: .seconds(3_600))
        }
        self.timer = timer
        await isRunning.pass()
        let hasEnded = stop()
        precondition(hasEnded && timer.state == .ended(.cancelled))
    }

    private func stop() -> Bool { timer?.cancelAndWait() ?? false }
}

private actor Meter {
    func run() async throws {
        let isRunning = Gate()
        let timer = try PreciseTimer.schedule(.once(after: .zero), target: self) { _, _ in
            isRunning.open()
            try? await Task.sleep(for: .seconds(3_600))
        }
        await isRunning.pass()
        let hasEnded = end(timer)
        precondition(hasEnded && timer.state == .ended(.cancelled))
    }

    func end(_ timer: PreciseTimer) -> Bool { timer.cancelAndWait() }
}
