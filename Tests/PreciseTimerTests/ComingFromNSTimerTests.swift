import Dispatch
import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// The replacements for patterns around NSTimer, with a test for each section of the guide ComingFromNSTimer, on every
/// backend and on virtual time.
@Suite(.waits("every backend and the main run loop fire by themselves"), .timeLimit(.minutes(60)))
struct ComingFromNSTimerTests {
    private let log = Log()

    /// A target that holds its timer.
    private final class Model: Sendable {
        let log: Log
        let timer = Box<PreciseTimer>()

        init(_ log: Log) { self.log = log }

        func step(_ tick: PreciseTimer.Tick) { log.note(tick) }
    }

    // MARK: A function that takes a block and returns an id

    @Test(arguments: Ground.all)
    func aBlockWithADelayAPeriodAndAQueueIsOneCall(ground: Ground) throws {
        let (site, queue, key) = (try ground.site(), DispatchQueue(label: "test.work"), DispatchSpecificKey<Bool>())
        queue.setSpecific(key: key, value: true)
        let isOnQueue = Notes<Bool>()
        let rule = PreciseTimer.Schedule.every(.milliseconds(2), after: .milliseconds(5))
        let earliest = site.service.now.advanced(by: .milliseconds(5))
        let timer = try PreciseTimer.schedule(rule, on: site.service, deliver: .queue(queue), target: log) {
            isOnQueue.append(DispatchQueue.getSpecific(key: key) ?? false)
            $0.note($1)
        }
        let latest = site.service.now.advanced(by: .milliseconds(5))
        let isDone = site.until {
            queue.sync {}
            return log.count >= 3
        }
        timer.cancel()
        queue.sync {}
        let first = try #require(log.ticks.first).deadline
        #expect(isDone && (earliest...latest).contains(first))
        #expect(log.ticks.flaw(from: first, every: .milliseconds(2)) == nil)
        #expect(isOnQueue.all == Array(repeating: true, count: log.count))
    }

    /// If an id is the number of timers in a dictionary, it repeats.
    @Test(arguments: Ground.all)
    func theHandleOfAnEndedTimerNeverReachesANewerOne(ground: Ground) throws {
        let (site, period) = (try ground.site(), PreciseTimer.Schedule.every(.milliseconds(1)))
        let live = try PreciseTimer.schedule(period, on: site.service, target: log) { $0.note($1) }
        var ended: [PreciseTimer] = []
        for _ in 0..<100 {
            // Every other handle is released, so that new timers take over their places.
            try PreciseTimer.schedule(period, on: site.service, target: log) { _, _ in }.cancel()
            let newest = try PreciseTimer.schedule(period, on: site.service, target: log) { _, _ in }
            for old in ended {
                #expect(throws: TimerError.self) { try old.reschedule(.every(.seconds(9))) }
                #expect([old.cancel(), old.pause(), old.fire()] == [false, false, false])
            }
            #expect(newest.state == .scheduled && newest.cancel())
            ended.append(newest)
        }
        #expect(live.state == .scheduled && site.until { log.count >= 3 })
        live.cancel()
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
        #expect(site.until { site.service.pendingCount == 0 })
    }

    // MARK: The same with a target and a selector; a weak property, and [weak self]

    @Test(arguments: Ground.all)
    func aMethodIsCalledOnATargetThatIsNotRetainedThoughItHoldsItsTimer(ground: Ground) throws {
        let (site, period) = (try ground.site(), Duration.milliseconds(1))
        var model: Model? = Model(log)
        weak let released = model
        let timer = try PreciseTimer.schedule(.every(period), on: site.service, target: try #require(model)) {
            $0.step($1)
        }
        model?.timer.value = timer
        #expect(site.until { log.count >= 2 })
        model = nil
        #expect(site.until { released == nil }, "a running handler lets it go")
        let count = log.count
        site.pass(.milliseconds(3))
        #expect(log.count == count && timer.state == .ended(.targetReleased))
        #expect(log.ticks.flaw(every: period) == nil)
    }

    // MARK: A proxy that forwards to a weak target

    @Test func anAPIThatRetainsAProxyDoesNotRetainTheTarget() {
        final class Named: Sendable { let name = "model" }
        let notes = Notes<String>()
        var model: Named? = Named()
        weak let released = model
        let proxy = model.map { WeakProxy($0) }
        let callback = { proxy? { notes.append($0.name) } }
        callback()
        model = nil
        #expect(released == nil)
        callback()
        #expect(notes.all == ["model"])
    }

    // MARK: A timer class with NSTimer's members

    @Test(arguments: Ground.all)
    func aTimerIsCreatedPausedAndItsFireDateIsReadAndMoved(ground: Ground) throws {
        let (site, hour, period) = (try ground.site(), Duration.seconds(3_600), Duration.milliseconds(10))
        let timer = try PreciseTimer.schedule(.every(hour), on: site.service, paused: true) { [log] in log.note($1) }
        site.pass(.milliseconds(10))
        #expect(timer.state == .paused && timer.period == hour)
        let earliest = site.service.now.advanced(by: hour)
        timer.resume()
        let latest = site.service.now.advanced(by: hour)
        let next = try #require(timer.nextDeadline)
        #expect((earliest...latest).contains(next), "nothing passed meanwhile")
        try timer.reschedule(.every(hour, at: next.advanced(by: .seconds(-7))))
        #expect(timer.nextDeadline == next.advanced(by: .seconds(-7)) && log.count == 0)
        let start = site.service.now.advanced(by: .milliseconds(3))
        try timer.reschedule(.every(period, at: start))
        #expect(site.until { log.count >= 2 })
        timer.cancel()
        #expect(log.ticks.flaw(from: start, every: period) == nil)
    }

    /// The clock moves between any two readings, as if the thread were stopped there.
    @Test(arguments: [false, true]) func aTimerThatBeginsPausedWaitsForItsWholeDelay(isRescheduled: Bool) throws {
        let service = try TimerService(alarm: MovingAlarm())
        let hour = Duration.seconds(3_600)
        let timer = try PreciseTimer.schedule(.every(hour), on: service, paused: true) { [log] in log.note($1) }
        if isRescheduled { try timer.reschedule(.every(hour)) }
        let earliest = service.now.advanced(by: hour)
        timer.resume()
        let latest = service.now.advanced(by: hour)
        let next = try #require(timer.nextDeadline)
        #expect(earliest < next && next < latest)
        timer.cancel()
        service.shutdown()
    }

    @Test func aFireDateIsADateOnTheWallClock() throws {
        let noon = Date(timeIntervalSince1970: 1_798_545_600)
        let virtual = VirtualTime(clock: .wall, at: noon.addingTimeInterval(-60))
        let timer = try PreciseTimer.schedule(.once(at: noon), on: virtual.service, target: log) { $0.note($1) }
        #expect(timer.nextDeadline.flatMap { Date($0) } == noon)
        try timer.reschedule(.every(.seconds(10), at: TimerInstant(noon.addingTimeInterval(5))))
        virtual.advance(by: .seconds(80))
        #expect(log.ticks.map { Date($0.deadline) } == [5, 15].map { noon.addingTimeInterval($0) })
    }

    @Test func theDateOfADeadlineOfAnotherClockIsThatManySecondsFromNow() throws {
        let virtual = VirtualTime()
        let timer = try PreciseTimer.schedule(.every(.seconds(90)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(30))
        #expect(timer.nextDeadline.flatMap { Date($0) } == nil, "it counts from the start of the system")
        #expect(timer.remaining.map { $0 / .seconds(1) } == 60)
    }

    @Test(arguments: Ground.all)
    func fireAddsOneExtraTickAndInvalidateEndsThem(ground: Ground) throws {
        let (site, period) = (try ground.site(), Duration.milliseconds(10))
        let start = site.service.now.advanced(by: period)
        let timer = try PreciseTimer.schedule(.every(period, at: start), on: site.service) { [log] in log.note($1) }
        site.pass(.milliseconds(4))
        let asked = site.service.now
        #expect(timer.fire())
        let latest = site.service.now
        #expect(site.until { log.ticks.contains(where: \.isExtra) && log.count >= 3 })
        #expect([timer.cancel(), timer.cancel(), timer.fire()] == [true, false, false])
        let count = log.count
        site.pass(.milliseconds(30))
        #expect(log.count <= count + 1, "at most the running handler finished")
        #expect(timer.nextDeadline == nil && timer.state == .ended(.cancelled))
        let extra = log.ticks.filter(\.isExtra)
        #expect(extra.map { (asked...latest).contains($0.deadline) && $0.missed == 0 } == [true])
        #expect(log.ticks.filter { !$0.isExtra }.flaw(from: start, every: period) == nil, "the grid does not move")
    }

    /// Instead of a fire date in the distant future. The handle has no target, and ends its timer when it is released.
    @Test(arguments: Ground.all)
    func aPausedTimerKeepsItsRemainingTimeAndEndsWithItsHandle(ground: Ground) throws {
        let (site, endings) = (try ground.site(), Notes<PreciseTimer.EndReason>())
        let period = PreciseTimer.Schedule.every(.milliseconds(20))
        var timer: PreciseTimer? = try PreciseTimer.schedule(period, on: site.service, onEnd: endings.append) {
            [log] in log.note($1)
        }
        site.pass(.milliseconds(5))
        #expect(timer?.pause() == true)
        let remaining = try #require(timer?.remaining)
        site.pass(.milliseconds(30))
        let count = log.count
        #expect(timer?.remaining == remaining && timer?.nextDeadline == nil)
        let earliest = site.service.now.advanced(by: remaining)
        #expect(timer?.resume() == true)
        #expect(site.until { log.ticks.count { $0.deadline >= earliest } >= 2 })
        let since = log.ticks.dropFirst(count)
        let former = since.count { $0.deadline < earliest }
        #expect(former <= (site.virtual == nil ? 1 : 0), "at most the handler that ran at the pause")
        #expect(since.allSatisfy { $0.flawInTime == nil })
        timer = nil
        let isReported = { endings.all == [.handleReleased] }
        #expect(site.virtual == nil ? site.until(isReported) : isReported(), "at once, without a sweep")
        let last = log.count
        site.pass(.milliseconds(50))
        #expect(log.count == last)
    }

    // MARK: A timer that was invalidated and created again with each event

    @Test(arguments: Ground.all)
    func aTimeOutIsPostponedDisarmedAndSetAgain(ground: Ground) throws {
        let (site, delay) = (try ground.site(), Duration.milliseconds(5))
        let timeout = try PreciseTimer.schedule(.onDemand, on: site.service, target: log) { $0.note($1) }
        for _ in 0..<10 { try timeout.reschedule(.once(after: .seconds(3_600))) }
        try timeout.reschedule(.onDemand)
        site.pass(.milliseconds(10))
        #expect(log.count == 0 && timeout.nextDeadline == nil)
        for round in 1...2 {
            let earliest = site.service.now.advanced(by: delay)
            try timeout.reschedule(.once(after: delay))
            let latest = site.service.now.advanced(by: delay)
            #expect(site.until { log.count == round })
            let tick = try #require(log.ticks.last)
            #expect((earliest...latest).contains(tick.deadline) && tick.missed == 0 && tick.flawInTime == nil)
        }
        site.pass(.milliseconds(10))
        #expect(log.count == 2 && timeout.state == .scheduled)
    }

    // MARK: Categories that take a block

    @Test(arguments: Ground.all)
    func aHandlerReceivesItsTimerAndMayEndItByCounting(ground: Ground) throws {
        let (site, received) = (try ground.site(), Box<PreciseTimer>())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: site.service) { [log] timer, tick in
            received.value = timer
            log.note(tick)
            if log.count == 3 { timer.cancel() }
        }
        #expect(site.until { timer.state == .ended(.cancelled) })
        site.pass(.milliseconds(5))
        #expect(received.value === timer && log.count == 3)
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
        received.value = nil
    }

    // MARK: An object in between

    @Test(arguments: Ground.all)
    func capturesReplaceUserInfoAndATimerEndsByItselfWithItsTarget(ground: Ground) throws {
        let (site, endings, log) = (try ground.site(), Notes<PreciseTimer.EndReason>(), log)
        var model: Model? = Model(log)
        weak var released: Thing?
        do {
            let (info, target) = (Thing(), try #require(model))
            released = info
            let every = PreciseTimer.Schedule.every(.milliseconds(1))
            try PreciseTimer.schedule(every, on: site.service, target: target, onEnd: endings.append) { [info] in
                withExtendedLifetime(info) {}
                $0.step($1)
            }
        }
        #expect(site.until { log.count >= 2 })
        #expect(released != nil && endings.all == [])
        model = nil
        #expect(site.until { endings.all == [.targetReleased] && site.service.pendingCount == 0 })
        #expect(released == nil && site.service.nextWakeTime == nil)
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
    }

    // MARK: A timer on the main run loop

    @Test(arguments: Ground.all)
    func anIsolatedHandlerRunsOnTheMainActor(ground: Ground) async throws {
        let (site, place, isOnMain) = (try ground.site(), Place(.mainActor), Notes<Bool>())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(2)), on: site.service, target: log) {
            @MainActor _, _ in isOnMain.append(place.isHere)
        }
        site.virtual?.advanceWithoutSettling(by: .milliseconds(2))
        #expect(await soon { !isOnMain.all.isEmpty })
        await timer.cancelAndWait()
        #expect(isOnMain.all.allSatisfy { $0 })
    }

    // MARK: CADisplayLink

    @Test(arguments: Ground.all)
    func aRateHasExactlySixtyDeadlinesInEachSecond(ground: Ground) throws {
        let (site, second) = (try ground.site(), Duration.seconds(1))
        let link = try PreciseTimer.schedule(.rate(60, per: second), on: site.service, paused: true, target: log) {
            $0.note($1)
        }
        try link.reschedule(.rate(600, per: second * 10))
        link.resume()
        #expect(site.until { log.count >= (site.virtual == nil ? 5 : 601) })
        link.cancel()
        let ticks = log.ticks
        let first = try #require(ticks.first).deadline
        // Deadlines are rounded up to the nanosecond.
        let differences = ticks.map { first.duration(to: $0.deadline) - second * $0.index / 60 }
        #expect(
            differences.allSatisfy { abs($0 / .nanoseconds(1)) <= 1 } && ticks.allSatisfy { $0.flawInTime == nil },
            "\(differences)"
        )
    }

    // MARK: Tolerance, and a busy run loop

    @Test(arguments: Ground.all)
    func timersWithAToleranceShareWakeUpsAndNoneIsEarly(ground: Ground) throws {
        let (site, period, early) = (try ground.site(), Duration.milliseconds(5), Notes<Int>())
        let (service, start) = (site.service, site.service.now.advanced(by: period))
        // Their deadlines differ by 200 us, and their ticks come at multiples of 2^20 ns.
        let logs = [Log(), Log()]
        for (number, log) in logs.enumerated() {
            let every = PreciseTimer.Schedule.every(period, at: start.advanced(by: .microseconds(number * 200)))
            try PreciseTimer.schedule(every, on: service, tolerance: .milliseconds(2), target: log) {
                if service.now < $1.deadline { early.append($1.index) }
                $0.note($1)
            }
        }
        site.virtual?.inject(.wakeEarly(by: .milliseconds(200)), after: .milliseconds(300))
        #expect(site.pass(.milliseconds(502)) { logs.allSatisfy { $0.count >= 20 } })
        service.shutdown()
        let shared = Set(logs[0].ticks.map(\.woke)).intersection(logs[1].ticks.map(\.woke)).count
        #expect(shared >= (site.virtual == nil ? 10 : 79), "a fifth have a round instant in between")
        #expect(logs.map { $0.ticks.flaw(every: period) } == [nil, nil] && early.all == [])
        #expect(logs.map { $0.ticks.first?.deadline } == [start, start.advanced(by: .microseconds(200))])
        guard site.virtual != nil else { return }
        #expect(logs.map(\.count) == [100, 100])
        #expect(logs.flatMap(\.ticks).allSatisfy { $0.lateness <= .milliseconds(2) })
    }

    // MARK: A Dispatch timer

    @Test func dispatchNeedsNoRunLoopAndItsServicesAreReleasedUnusedAndWithPausedTimers() throws {
        let log = log
        weak var unused: TimerService?
        weak var released: TimerService?
        do {
            let service = try TimerService(.dispatch)
            let other = try TimerService(.dispatch)
            (unused, released) = (other, service)
            let never = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service, paused: true) { log.note($1) }
            let later = try PreciseTimer.schedule(.every(.milliseconds(1)), on: service) { log.note($1) }
            #expect(eventually { log.count >= 3 }, "on a thread that runs no run loop")
            later.pause(keeping: .grid)
            #expect([never.state, later.state] == [.paused, .paused])
        }
        // A Dispatch source that is released before it was activated, or while it is suspended, ends the process.
        #expect(eventually { unused == nil && released == nil })
    }
}

/// An alarm that never fires, whose clock moves by a millisecond with each reading.
private final class MovingAlarm: TimerAlarm {
    private let time = Lock<UInt64>(1_000_000_000)

    var now: TimerInstant {
        let nanoseconds = time.withLock { time in
            time += 1_000_000
            return time
        }
        return TimerInstant(nanoseconds: nanoseconds)
    }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {}

    func set(_ deadline: TimerInstant?) {}

    func stop() {}
}
