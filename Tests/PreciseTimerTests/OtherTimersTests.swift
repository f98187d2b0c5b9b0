import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Situations out of public reports of other timers. Each names a report, and what went wrong there.
struct StrangersTests {
    typealias Schedule = PreciseTimer.Schedule

    private let scene = Scene()

    // MARK: Numbers

    private static let years = [10, 260, 510]

    /// tokio #5536: a timer wheel that is old enough no longer finds its deadlines.
    @Test(arguments: years, [Schedule.once(after: .milliseconds(3)), .rate(1, per: .milliseconds(3), count: 1)])
    func aServiceThatHasLivedForCenturiesIsExact(years: Int, schedule: Schedule) throws {
        let (virtual, log, old) = (VirtualTime(), Log(), Duration.seconds(years * 31_557_600))
        let start = virtual.now
        virtual.jump(by: old)
        try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .nanoseconds(2_999_999))
        #expect(log.count == 0)
        virtual.advance(by: .nanoseconds(1))
        #expect(log.ticks.map { start.duration(to: $0.deadline) } == [old + .milliseconds(3)])
        #expect(virtual.pendingCount == 0)
    }

    /// swiftlang/swift #80791: a sleep of the longest duration returns at once.
    @Test(
        .waits("a task sleeps"),
        arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .milliseconds(Int64.max)]
    )
    func aSleepOfTheLongestDurationLastsUntilItsTaskIsCancelled(length: Duration) async throws {
        let (virtual, isOver) = (scene.virtual, Gate())
        let sleeper = Task {
            defer { isOver.open() }
            try await virtual.clock.sleep(for: length)
        }
        #expect(await soon { virtual.pendingCount == 1 })
        virtual.jump(by: .seconds(200 * 31_557_600))
        #expect(virtual.pendingCount == 1 && !isOver.isPassable)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(virtual.pendingCount == 0)
    }

    // MARK: Deadlines

    /// libevent #1727: the removal of the earliest timer leaves wake-ups behind.
    @Test func shortTimersThatAreCancelledLeaveOneWakeUpAtMost() throws {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = try TimerService(alarm: alarm)
        let far = try PreciseTimer.schedule(.once(after: .seconds(60)), on: service, target: log) { $0.note($1) }
        for _ in 0..<50 {
            let short = try PreciseTimer.schedule(.once(after: .milliseconds(1)), on: service, target: log) {
                $0.note($1)
            }
            short.cancel()
        }
        alarm.move(by: .seconds(1))
        alarm.fire()
        let settings = alarm.settings
        #expect(settings.last == far.nextDeadline)
        alarm.fire()
        #expect(alarm.settings.last == far.nextDeadline && log.count == 0)
    }

    // MARK: Endings

    /// asio #979: a timer that outlives its loop crashes.
    @Test func aTimerMayBeUsedAfterItsServiceIsGone() async throws {
        var service: TimerService? = try TimerService(alarm: ManualAlarm())
        weak let gone = service
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: try #require(service), target: scene.log) {
            $0.note($1)
        }
        service?.shutdown()
        service = nil
        #expect(gone == nil)
        let accepted = [timer.cancel(), timer.pause(), timer.resume(), timer.restart(), timer.fire()]
        #expect(accepted.allSatisfy { !$0 })
        #expect(try await !timer.finish())
        #expect(await !timer.cancelAndWait())
        #expect(timer.nextDeadline == nil && timer.remaining == nil && timer.runningSince == nil)
        #expect(timer.state == .ended(.serviceShutDown))
        let error = #expect(throws: TimerError.self) { try timer.reschedule(.onDemand) }
        #expect(error?.code == .timerEnded)
    }

    /// stream-chat-swift PR #2938 and Tealium #100: calls from several threads suspend and resume a timer out of
    /// balance.
    @Test(.works("threads race"), arguments: TimerService.Backend.available)
    func threadsMayPauseResumeFireAndReleaseOneTimer(backend: TimerService.Backend) throws {
        let (service, ends) = (try TimerService(backend), Count())
        for _ in 0..<20 {
            let own = Box<PreciseTimer>()
            own.value = try PreciseTimer.schedule(
                .every(.microseconds(50)),
                on: service,
                onEnd: { _ in ends.add(1) },
                handler: { _, _ in }
            )
            try onThreads(8) { number in
                for round in 0..<20 {
                    switch number % 4 {
                    case 0: _ = own.value?.pause()
                    case 1: own.value?.resume()
                    case 2: own.value?.fire()
                    default: if round == 10 { own.value = nil }
                    }
                }
            }
        }
        #expect(eventually { ends.value == 20 && service.pendingCount == 0 })
    }

    /// swift-async-algorithms: the copies of an iterator disagree, and a call after the end does not return.
    @Test(.waits("a task takes ticks")) func copiesOfAnIteratorShareItsTicksAndItsEnd() async throws {
        let schedule = Schedule.every(.seconds(1), count: 2)
        var one = PreciseTimer.ticks(schedule, on: scene.virtual.service).makeAsyncIterator()
        var other = one
        #expect(scene.virtual.pendingCount == 1)
        var seen: [Int?] = []
        for _ in 0..<2 {
            scene.advanceWithoutSettling(1_000)
            seen.append(try await seen.isEmpty ? one.next()?.index : other.next()?.index)
        }
        for _ in 0..<2 { seen += [try await one.next()?.index, try await other.next()?.index] }
        #expect(seen == [0, 1, nil, nil, nil, nil])
    }
}

extension Scene {
    fileprivate func advanceWithoutSettling(_ time: Int) { virtual.advanceWithoutSettling(by: .milliseconds(time)) }
}

/// What replaces patterns around NSTimer, and no suite of a promise shows.
@Suite(.waits("every backend fires by itself"), .timeLimit(.minutes(60)))
struct ComingFromNSTimerTests {
    private let log = Log()

    // MARK: A timer class with NSTimer's members

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

    // MARK: An object in between

    @Test(arguments: Ground.all)
    func capturesReplaceUserInfoAndATimerEndsByItselfWithItsTargetThatHoldsIt(ground: Ground) throws {
        let (site, endings, log) = (try ground.site(), Notes<PreciseTimer.EndReason>(), log)
        let (service, every) = (site.service, PreciseTimer.Schedule.every(.milliseconds(1)))
        var owner: Box<PreciseTimer>? = Box()
        weak var released: Thing?
        do {
            let (info, target) = (Thing(), try #require(owner))
            released = info
            target.value = try PreciseTimer.schedule(every, on: service, target: target, onEnd: endings.append) {
                [info] _, tick in withExtendedLifetime(info) { log.note(tick) }
            }
        }
        #expect(site.until { log.count >= 2 })
        #expect(released != nil && endings.all == [])
        owner = nil
        #expect(site.until { endings.all == [.targetReleased] && service.pendingCount == 0 })
        #expect(released == nil && service.nextWakeTime == nil)
        #expect(log.ticks.flaw(every: .milliseconds(1)) == nil)
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
