import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Random phases, and alignment to a common grid.
struct SpreadTests {
    private func phases(seed: UInt64, _ schedule: PreciseTimer.Schedule, count: Int = 100) throws -> [Duration] {
        let virtual = VirtualTime(seed: seed)
        let (start, log) = (virtual.now, Log())
        for _ in 0..<count {
            try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        }
        virtual.advance(by: .seconds(1_000))
        return log.ticks.filter { $0.index == 0 }.map { start.duration(to: $0.deadline) }
    }

    @Test(arguments: [
        (PreciseTimer.Schedule.every(.seconds(600), spread: .seconds(30)), Duration.seconds(600)),
        (.every(.seconds(600), after: .seconds(5), spread: .seconds(30)), .seconds(5)),
        (.every(.seconds(600), at: VirtualTime().now.advanced(by: .seconds(7)), spread: .seconds(30)), .seconds(7)),
        (.once(after: .seconds(8), spread: .seconds(30)), .seconds(8)),
        (.rate(1, per: .seconds(600), spread: .seconds(30)), .seconds(600)),
        (.fixedDelay(.seconds(600), spread: .seconds(30)), .seconds(600)),
    ])
    func eachTimerHasItsOwnPhaseWithinTheSpread(schedule: PreciseTimer.Schedule, first: Duration) throws {
        let phases = try phases(seed: 1, schedule)
        #expect(phases.count == 100)
        #expect(phases.allSatisfy { (first...first + .seconds(30)).contains($0) })
        #expect(Set(phases).count == 100)
        let (early, late) = (phases.min() ?? .zero, phases.max() ?? .zero)
        #expect(late - early > .seconds(20), "the phases fill the spread")
    }

    @Test func aSeedDeterminesThePhases() throws {
        let schedule = PreciseTimer.Schedule.every(.seconds(600), spread: .seconds(30))
        #expect(try phases(seed: 1, schedule) == phases(seed: 1, schedule))
        #expect(try phases(seed: 1, schedule) != phases(seed: 2, schedule))
    }

    @Test func theGridKeepsThePhase() throws {
        let (virtual, log) = (VirtualTime(seed: 3), Log())
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1), spread: .seconds(1)),
            on: virtual.service,
            target: log
        ) {
            $0.note($1)
        }
        let first = try #require(timer.nextDeadline)
        virtual.advance(by: .seconds(100))
        #expect(log.ticks.flaw(from: first, every: .seconds(1)) == nil)
        try timer.reschedule(.every(.seconds(1), spread: .seconds(1)))
        let again = try #require(timer.nextDeadline)
        let phase = first.duration(to: again).components.attoseconds
        #expect(phase != 0, "a reschedule draws anew")
    }

    @Test(arguments: Ground.all)
    func timersWithASpreadTickOnEveryGround(ground: Ground) throws {
        let (site, log) = (try ground.site(), Log())
        let start = site.service.now
        let timers = try (0..<20)
            .map { _ in
                try PreciseTimer.schedule(.once(after: .milliseconds(1), spread: .milliseconds(5)), on: site.service) {
                    _,
                    tick in log.note(tick)
                }
            }
        #expect(site.until { log.count == 20 })
        let ticks = log.ticks
        // A timer ends after its handler has returned.
        #expect(site.until { timers.allSatisfy { $0.state == .ended(.completed) } })
        #expect(ticks.allSatisfy { start.advanced(by: .milliseconds(1)) <= $0.deadline })
        #expect(Set(ticks.map(\.deadline)).count > 1)
    }

    /// The alarms' clocks stand at the same instant. Two of some 2^42 phases are hardly ever equal.
    @Test func twoServicesDrawDifferentPhases() throws {
        let deadlines = try (0..<2)
            .map { _ in
                let service = try TimerService(alarm: ManualAlarm())
                let timer = try PreciseTimer.schedule(.once(after: .zero, spread: .seconds(3_600)), on: service) {
                    _,
                    _ in
                }
                return try #require(timer.nextDeadline)
            }
        #expect(deadlines[0] != deadlines[1])
    }

    @Test func aNegativeSpreadIsRefused() throws {
        let virtual = VirtualTime()
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(.every(.seconds(1), spread: .seconds(-1)), on: virtual.service, target: Log()) {
                $0.note($1)
            }
        }
        #expect(error?.attempted == "scheduling with a spread of -1 s (it must not be negative)")
    }

    @Test func anEndlessSpreadBecomesAnyInstantOrNever() throws {
        let (virtual, log) = (VirtualTime(), Log())
        let timer = try PreciseTimer.schedule(
            .once(after: .seconds(1), spread: .seconds(Int64.max)),
            on: virtual.service,
            target: log
        ) { $0.note($1) }
        #expect(timer.nextDeadline.map { $0 > virtual.now } ?? true)
    }
}

struct AlignmentTests {
    @Test(arguments: Ground.all)
    func deadlinesAreWholePeriodsFromTheCommonInstant(ground: Ground) throws {
        let (site, log) = (try ground.site(), Log())
        let period = Duration.milliseconds(4)
        let now = site.service.now
        for instant in [.origin(on: .suspending), now, now.advanced(by: .seconds(3_600))] {
            let before = log.count
            let timer = try PreciseTimer.schedule(.every(period, alignedTo: instant), on: site.service, target: log) {
                $0.note($1)
            }
            #expect(site.until { log.count >= before + 5 })
            timer.cancel()
            let offsets = log.ticks.dropFirst(before).map { instant.duration(to: $0.deadline).components.attoseconds }
            #expect(offsets.allSatisfy { $0 % 4_000_000_000_000_000 == 0 }, "\(offsets)")
        }
        #expect(log.ticks.allSatisfy { $0.flawInTime == nil })
    }

    @Test func wholeSecondsOfTheWallClock() throws {
        let (virtual, log) = (VirtualTime(clock: .wall), Log())
        virtual.advance(by: .milliseconds(1_234))
        try PreciseTimer.schedule(
            .every(.seconds(1), alignedTo: .origin(on: .wall)),
            on: virtual.service,
            target: log
        ) { $0.note($1) }
        virtual.advance(by: .seconds(10))
        #expect(log.count == 10)
        #expect(log.ticks.allSatisfy { $0.deadline.nanoseconds % 1_000_000_000 == 0 })
        #expect(log.ticks.allSatisfy { $0.lateness == .zero })
    }

    @Test func theFirstDeadlineIsAfterNow() throws {
        let virtual = VirtualTime()
        virtual.advance(by: .seconds(100))
        for (offset, first) in [(0, 10), (3, 3), (-3, 7), (10, 10), (-10, 10), (25, 5)] {
            let instant = virtual.now.advanced(by: .seconds(offset))
            let timer = try PreciseTimer.schedule(.every(.seconds(10), alignedTo: instant), on: virtual.service) {
                _,
                _ in
            }
            #expect(timer.nextDeadline.map { virtual.now.duration(to: $0) } == .seconds(first), "\(offset)")
            timer.cancel()
        }
    }

    @Test func aTimerAlignedToNeverNeverTicks() throws {
        let virtual = VirtualTime()
        let timer = try PreciseTimer.schedule(
            .every(.seconds(1), alignedTo: .never(on: .suspending)),
            on: virtual.service
        ) { _, _ in }
        #expect(timer.nextDeadline == nil)
        timer.cancel()
    }

    @Test func anInstantOfAnotherClockIsRefused() throws {
        let virtual = VirtualTime()
        let error = #expect(throws: TimerError.self) {
            try PreciseTimer.schedule(
                .every(.seconds(1), alignedTo: .origin(on: .wall)),
                on: virtual.service,
                target: Log()
            ) { $0.note($1) }
        }
        #expect(error?.code == .invalidSchedule)
    }
}
