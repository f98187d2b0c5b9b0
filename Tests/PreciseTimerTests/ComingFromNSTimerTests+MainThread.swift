import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

// MARK: A timer on the main run loop

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func anIsolatedHandlerRunsOnTheMainActor(ground: Ground) async throws {
        let site = try ground.site()
        let (place, isOnMain) = (Place(.mainActor), Notes<Bool>())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2)), on: site.service, target: log) {
            @MainActor _, _ in isOnMain.append(place.isHere)
        }
        site.virtual?.advanceWithoutSettling(by: .milliseconds(2))
        #expect(await soon { !isOnMain.all.isEmpty })
        await timer.cancelAndWait()
        let places = isOnMain.all
        #expect(places == Array(repeating: true, count: places.count))
        if site.virtual != nil { #expect(places.count == 1) }
    }
}

// MARK: CADisplayLink

extension ComingFromNSTimerTests {
    @Test(arguments: Ground.all)
    func aRateHasExactlySixtyDeadlinesInEachSecond(ground: Ground) throws {
        let (site, ticks) = (try ground.site(), Log())
        let start = site.service.now
        let link = try PreciseTimer.schedule(.rate(600, per: .seconds(10)), on: site.service, target: ticks) {
            $0.note($1)
        }
        guard let virtual = site.virtual else {
            #expect(eventually { ticks.count >= 5 })
            link.cancel()
            let first = try #require(ticks.ticks.first)
            let offsets = ticks.ticks.map { first.deadline.duration(to: $0.deadline) }
            // Deadlines are rounded up to the nanosecond.
            let exact = ticks.ticks.map { Duration.seconds(1) * Int($0.index) / 60 }
            #expect(zip(offsets, exact).allSatisfy { abs(($0 - $1) / .nanoseconds(1)) <= 1 })
            #expect(ticks.ticks.allSatisfy { $0.flawInTime == nil })
            return
        }
        for second in 1...100 {
            virtual.advance(by: .seconds(1))
            #expect(ticks.count == 60 * second)
            #expect(ticks.ticks.last?.deadline == start.advanced(by: .seconds(second)))
        }
        #expect(link.nextDeadline == start.advanced(by: .seconds(100) + .nanoseconds(16_666_667)))
    }

    @Test(arguments: Ground.all)
    func aLinkIsPausedAndGetsAnotherRate(ground: Ground) throws {
        let (site, ticks) = (try ground.site(), Log())
        let link = try PreciseTimer.schedule(.rate(60, per: .seconds(1)), on: site.service, paused: true, target: ticks)
        {
            $0.note($1)
        }
        site.pass(.milliseconds(50))
        #expect(ticks.count == 0)
        try link.reschedule(.rate(300, per: .seconds(1)))
        link.resume()
        #expect(site.pass(.seconds(1)) { ticks.count >= 30 })
        #expect(link.period == .seconds(1) / 300)
        link.cancel()
        if site.virtual != nil { #expect(ticks.count == 300) }
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
            handle.value = try PreciseTimer.schedule(.every(.milliseconds(2)), on: service, target: self) {
                screen,
                tick in screen.model?.note(tick)
            }
        }
    }

    @Test(arguments: Ground.all)
    func aTimerEndsWithItsTargetAndNotWithAModelOfTheTarget(ground: Ground) throws {
        let site = try ground.site()
        var model: Log? = Log()
        var screen: Screen? = Screen(try #require(model))
        weak let released = screen
        try screen?.show(on: site.service)
        let timer = try #require(screen?.handle.value)
        let notes = model
        #expect(site.until { (notes?.count ?? 0) >= 1 })
        model = nil
        site.pass(.milliseconds(5))
        #expect(timer.state == .scheduled)
        screen = nil
        // A real timer's thread may hold the owner while it calls the handler.
        #expect(site.until { released == nil }, "neither the timer nor the handle keeps the owner")
        #expect(site.until { timer.state == .ended(.targetReleased) })
    }

    @Test(arguments: Ground.all)
    func aHandlerThatCapturesItsTargetKeepsItUntilTheTimerIsCancelled(ground: Ground) throws {
        let site = try ground.site()
        var model: Log? = Log()
        weak let released = model
        let timer = try PreciseTimer.schedule(
            .every(.milliseconds(2)),
            on: site.service,
            target: try #require(model)
        ) { [model] _, tick in model?.note(tick) }
        model = nil
        #expect(site.pass(.milliseconds(120)) { (released?.count ?? 0) >= 60 })
        timer.cancel()
        #expect(site.until { released == nil })
    }

    @Test(arguments: Ground.all)
    func aWeakPropertyDoesNotKeepTheHandle(ground: Ground) throws {
        let (site, ticks) = (try ground.site(), Log())
        weak let timer = try PreciseTimer.schedule(.every(.milliseconds(2)), on: site.service, target: ticks) {
            $0.note($1)
        }
        #expect(timer == nil)
        #expect(site.pass(.milliseconds(6)) { ticks.count >= 3 })
        if site.virtual != nil { #expect(ticks.count == 3) }
    }
}
