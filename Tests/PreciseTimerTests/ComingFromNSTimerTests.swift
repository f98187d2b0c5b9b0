import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

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
