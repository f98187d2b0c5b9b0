import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Replacements for patterns around NSTimer of which no suite of a promise has all, on every backend and on virtual time.
@Suite(.waits("every backend fires by itself"), .timeLimit(.minutes(60)))
struct ComingFromNSTimerTests {
    private let log = Log()

    // MARK: A function that takes a block and returns an id

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
