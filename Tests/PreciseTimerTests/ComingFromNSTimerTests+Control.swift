import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

// MARK: A timer class with the members of NSTimer

extension ComingFromNSTimerTests {
    @Test func theNextDeadlineIsReadAndMoved() throws {
        let start = virtual.now
        let timer = try PreciseTimer.schedule(.every(.seconds(10)), on: virtual.service) { [log] in log.note($1) }
        #expect(timer.period == .seconds(10))
        #expect(timer.nextDeadline == start.advanced(by: .seconds(10)))
        try timer.reschedule(.every(.seconds(10), at: start.advanced(by: .seconds(3))))
        #expect(timer.nextDeadline == start.advanced(by: .seconds(3)))
        virtual.advance(by: .seconds(13))
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [.seconds(3), .seconds(13)])
        #expect(timer.period == .seconds(10))
    }

    @Test func fireAddsOneExtraTick() throws {
        let timer = try PreciseTimer.schedule(.every(.seconds(10)), on: virtual.service) { [log] in log.note($1) }
        virtual.advance(by: .seconds(4))
        let asked = virtual.now
        timer.fire()
        #expect(log.count == 0, "not inside the call")
        virtual.advance(by: .seconds(6))
        #expect(log.ticks.map(\.deadline) == [asked, asked.advanced(by: .seconds(6))])
    }

    @Test func aTimerIsCreatedPaused() throws {
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, paused: true) { [log] in
            log.note($1)
        }
        #expect(timer.state == .paused)
        virtual.advance(by: .milliseconds(2_500))
        #expect(log.count == 0)
        timer.resume()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.missed) == [1], "the grid ran on meanwhile")
        virtual.advance(by: .milliseconds(500))
        #expect(log.count == 2)
    }

    @Test func aCancelledTimerNeverTicksAndMayBeCancelledAgain() throws {
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { [log] in log.note($1) }
        timer.cancel()
        #expect(timer.cancel() == false)
        #expect(timer.fire() == false)
        #expect(timer.nextDeadline == nil)
        virtual.advance(by: .seconds(3))
        #expect(log.count == 0)
    }

    @Test func aHandleWithoutATargetEndsItsTimerWhenReleased() throws {
        let endings = Notes<PreciseTimer.EndReason>()
        var timer: PreciseTimer? = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            onEnd: endings.append
        ) { [log] in log.note($1) }
        virtual.advance(by: .seconds(1))
        #expect(timer != nil)
        timer = nil
        #expect(endings.all == [.handleReleased])
        virtual.advance(by: .seconds(1))
        #expect(log.count == 1)
    }
}

// MARK: A timer that was created again with each event

extension ComingFromNSTimerTests {
    @Test func aTimeOutIsPostponedDisarmedAndSetAgain() throws {
        let start = virtual.now
        let timeout = try PreciseTimer.schedule(.onDemand, on: virtual.service, target: log) { $0.note($1) }
        for _ in 0..<10 {
            try timeout.reschedule(.once(after: .seconds(30)))
            virtual.advance(by: .seconds(29))
        }
        try timeout.reschedule(.onDemand)
        virtual.advance(by: .seconds(10))
        #expect(log.count == 0)
        for _ in 0..<2 {
            try timeout.reschedule(.once(after: .seconds(30)))
            virtual.advance(by: .seconds(60))
        }
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [.seconds(330), .seconds(390)])
    }
}

// MARK: Block categories

extension ComingFromNSTimerTests {
    @Test func aHandlerReceivesItsTimerAndMayEndItByCounting() throws {
        let received = Box<PreciseTimer>()
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service) { [log] timer, tick in
            received.value = timer
            log.note(tick)
            if log.count == 3 { timer.cancel() }
        }
        virtual.advance(by: .seconds(10))
        #expect(received.value === timer)
        #expect(log.count == 3)
        #expect(timer.state == .ended(.cancelled))
        received.value = nil
    }
}

// MARK: An object in between

extension ComingFromNSTimerTests {
    @Test func aTimerEndsByItselfWhenItsTargetIsReleased() throws {
        let endings = Notes<PreciseTimer.EndReason>()
        var model: Model? = Model(Notes())
        try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(model),
            onEnd: endings.append
        ) { $0.step($1) }
        virtual.advance(by: .seconds(1))
        model = nil
        virtual.advance(by: .seconds(1))
        #expect(endings.all == [.targetReleased])
        #expect(virtual.pendingCount == 0)
        #expect(virtual.nextDeadline == nil)
    }

    @Test func capturesReplaceUserInfoAndAreReleasedWithTheTimer() throws {
        final class Info: Sendable { let name = "left" }
        let (model, notes) = (Model(Notes()), Notes<String>())
        weak var released: Info?
        let timer = try {
            let info = Info()
            released = info
            return try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) {
                [info] _, tick in
                notes.append("\(info.name) \(tick.index)")
            }
        }()
        virtual.advance(by: .seconds(2))
        #expect(notes.all == ["left 0", "left 1"])
        #expect(released != nil)
        timer.cancel()
        #expect(released == nil)
    }
}
