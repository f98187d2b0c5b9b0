import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The forms of `schedule` that take a target and something other than an ordinary handler.
struct TargetFormTests {
    private let virtual = VirtualTime()

    private final class Model: Sendable {
        let log = Log()

        func step(_ tick: PreciseTimer.Tick) { log.note(tick) }
    }

    private actor Meter {
        private(set) var count = 0

        func step() { count += 1 }
        func stepLater() async { count += 1 }
    }

    @Test func theOrdinaryFormPassesOnAllItsArguments() throws {
        let (model, endings) = (Model(), Notes<PreciseTimer.EndReason>())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            tolerance: .milliseconds(500),
            missedTicks: .catchUp(limit: 2),
            label: "step",
            paused: true,
            target: model,
            onEnd: endings.append
        ) { $0.step($1) }
        let line = UInt(#line) - 10
        #expect(timer.label == "step")
        #expect(timer.state == .paused)
        let snapshot = try #require(virtual.service.activeTimers.first)
        #expect(snapshot.file == #fileID)
        #expect(snapshot.line == line)
        timer.resume()
        virtual.advance(by: .milliseconds(1_500))
        #expect(try #require(model.log.ticks.first).lateness > .zero, "it may be late by its tolerance")
        virtual.jump(by: .seconds(3))
        #expect(model.log.ticks.map(\.missed) == [0, 0, 1], "two late ticks at most, and the last carries the rest")
        timer.cancel()
        #expect(endings.all == [.cancelled])
    }

    @Test func aHandlerOfAnActorReachesItWithoutAwaiting() async throws {
        let (meter, counts) = (Meter(), Notes<Int>())
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, label: "meter", target: meter) {
            meter,
            tick in
            meter.step()
            counts.append(meter.count)
        }
        #expect(virtual.service.activeTimers.first?.label == "meter")
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { counts.all == [1] })
    }

    @Test func aHandlerOfAnActorMayAwait() async throws {
        let (meter, counts) = (Meter(), Notes<Int>())
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, target: meter) { meter, _ in
            await meter.stepLater()
            counts.append(meter.count)
        }
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(await soon { counts.all == [1] })
    }

    @Test func aTimerDoesNotRetainItsActor() async throws {
        let counts = Notes<Int>()
        weak var released: Meter?
        let timer = try {
            let meter = Meter()
            released = meter
            return try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: meter) { meter, _ in
                meter.step()
                counts.append(meter.count)
            }
        }()
        #expect(released == nil)
        #expect(timer.state == .ended(.targetReleased))
        virtual.advanceWithoutSettling(by: .seconds(1))
        #expect(counts.all == [])
    }
}
