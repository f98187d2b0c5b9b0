import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

// MARK: A timer on the main run loop

extension ComingFromNSTimerTests {
    @Test func anIsolatedHandlerRunsOnTheMainActor() async throws {
        let (place, isOnMain) = (Place(.mainActor), Notes<Bool>())
        try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { @MainActor _, _ in
            isOnMain.append(place.isHere)
        }
        virtual.advance(by: .seconds(1))
        #expect(await soon { isOnMain.all.count == 1 })
        #expect(isOnMain.all == [true])
    }
}

// MARK: CADisplayLink

extension ComingFromNSTimerTests {
    @Test func aRateHasExactlySixtyDeadlinesInEachSecond() throws {
        let start = virtual.now
        let link = try PreciseTimer.schedule(.rate(60, per: .seconds(1)), on: virtual.service, target: log) {
            $0.note($1)
        }
        for second in 1...100 {
            virtual.advance(by: .seconds(1))
            #expect(log.count == 60 * second)
            #expect(log.ticks.last?.deadline == start.advanced(by: .seconds(second)))
        }
        #expect(link.nextDeadline == start.advanced(by: .seconds(100) + .nanoseconds(16_666_667)))
    }

    @Test func aLinkIsPausedAndGetsAnotherRate() throws {
        let link = try PreciseTimer.schedule(.rate(60, per: .seconds(1)), on: virtual.service, target: log) {
            $0.note($1)
        }
        link.pause()
        virtual.advance(by: .seconds(1))
        #expect(log.count == 0)
        try link.reschedule(.rate(30, per: .seconds(1)))
        link.resume()
        virtual.advance(by: .seconds(1))
        #expect(log.count == 30)
    }
}

// MARK: A weak property, and [weak self]

extension ComingFromNSTimerTests {
    /// An owner that holds a model weakly and a handle strongly.
    private final class Screen: Sendable {
        weak let model: Log?
        let handle = Box<PreciseTimer>()

        init(_ model: Log) { self.model = model }

        func show(on service: TimerService) throws(TimerError) {
            handle.value = try PreciseTimer.schedule(.every(.seconds(1)), on: service, target: self) { screen, tick in
                screen.model?.note(tick)
            }
        }
    }

    @Test func aTimerEndsWithItsTargetAndNotWithAModelOfTheTarget() throws {
        var model: Log? = Log()
        var screen: Screen? = Screen(try #require(model))
        weak let released = screen
        try screen?.show(on: virtual.service)
        let timer = try #require(screen?.handle.value)
        virtual.advance(by: .seconds(1))
        #expect(model?.count == 1)
        model = nil
        virtual.advance(by: .seconds(1))
        #expect(timer.state == .scheduled)
        screen = nil
        #expect(released == nil, "neither the timer nor the handle keeps the owner")
        virtual.advance(by: .seconds(1))
        #expect(timer.state == .ended(.targetReleased))
    }

    @Test func aHandlerThatCapturesItsTargetKeepsItUntilTheTimerIsCancelled() throws {
        var model: Log? = Log()
        weak let released = model
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            target: try #require(model)
        ) { [model] _, tick in model?.note(tick) }
        model = nil
        virtual.advance(by: .seconds(60))
        #expect(released?.count == 60)
        timer.cancel()
        #expect(released == nil)
    }

    @Test func aWeakPropertyDoesNotKeepTheHandle() throws {
        weak let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) {
            $0.note($1)
        }
        #expect(timer == nil)
        virtual.advance(by: .seconds(3))
        #expect(log.count == 3)
    }
}
