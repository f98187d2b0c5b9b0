import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// The facts that a handle and a service report about a timer.
struct StateTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test(arguments: [
        (PreciseTimer.Schedule.once(after: .milliseconds(5)), Duration.milliseconds(5), nil),
        (.once(at: TimerInstant(nanoseconds: 1_000_000_007)), .nanoseconds(7), nil),
        (.every(.milliseconds(10)), .milliseconds(10), .milliseconds(10)),
        (.every(.milliseconds(10), after: .milliseconds(3)), .milliseconds(3), .milliseconds(10)),
        (.every(.milliseconds(10), at: TimerInstant(nanoseconds: 1_000_000_004)), .nanoseconds(4), .milliseconds(10)),
        (
            .rate(60, per: .seconds(1)), .nanoseconds(16_666_667),
            Duration(secondsComponent: 0, attosecondsComponent: 16_666_666_666_666_666)
        ),
        (.fixedDelay(.milliseconds(10)), .milliseconds(10), .milliseconds(10)),
        (.fixedDelay(.milliseconds(10), after: .zero), .zero, .milliseconds(10)),
    ])
    func theNextDeadlineAndThePeriodOfEachSchedule(
        schedule: PreciseTimer.Schedule,
        first: Duration,
        period: Duration?
    ) throws {
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        #expect(timer.nextDeadline == virtual.now.advanced(by: first))
        #expect(timer.period == period)
        timer.cancel()
        #expect(timer.nextDeadline == nil)
        #expect(timer.period == nil)
    }

    @Test func insideAHandlerTheNextDeadlineIsThatOfTheNextTick() throws {
        let next = Notes<TimerInstant?>()
        for schedule in [PreciseTimer.Schedule.every(.seconds(10)), .once(after: .seconds(10))]
            + [.fixedDelay(.seconds(10))]
        {
            let virtual = VirtualTime()
            let timer = try PreciseTimer.schedule(schedule, on: virtual.service) { timer, _ in
                next.append(timer.nextDeadline)
            }
            virtual.advance(by: .seconds(10))
            withExtendedLifetime(timer) {}
        }
        let every = TimerInstant(nanoseconds: 21_000_000_000)
        #expect(next.all == [every, nil, nil], "for a fixed delay it depends on the return")
    }

    @Test func theLabelStaysWithTheHandle() throws {
        let timer = try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, label: "blink", target: log) {
            $0.note($1)
        }
        #expect(timer.label == "blink")
        timer.cancel()
        #expect(timer.label == "blink")
        let nameless = try PreciseTimer.schedule(.once(after: .zero), on: virtual.service, target: log) { $0.note($1) }
        #expect(nameless.label == nil)
    }

    @Test func activeTimersReportAllFactsOfATimer() throws {
        let line: UInt = #line + 1
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, label: "pulse", target: log) {
            $0.note($1)
        }
        let fresh = try #require(virtual.service.activeTimers.first)
        #expect(fresh.label == "pulse")
        #expect(fresh.file == "PreciseTimerTests/StateTests.swift")
        #expect(fresh.line == line)
        #expect(fresh.nextDeadline == timer.nextDeadline)
        #expect(fresh.isPaused == false)
        #expect(fresh.isTargetAlive)
        #expect(fresh.ticks == 0)
        #expect(fresh.lastLateness == nil)

        virtual.advance(by: .seconds(2))
        virtual.jump(by: .milliseconds(1_250))
        timer.pause(keeping: .grid)
        let later = try #require(virtual.service.activeTimers.first)
        #expect(later.ticks == 3)
        #expect(later.lastLateness == .milliseconds(250))
        #expect(later.isPaused)
        #expect(later.nextDeadline == timer.nextDeadline)
        #expect(fresh.ticks == 0, "a snapshot does not change")
    }

    @Test func activeTimersAreThoseThatHaveNotEnded() throws {
        var target: Log? = Log()
        let orphan = try PreciseTimer.schedule(
            .every(.seconds(1)),
            on: virtual.service,
            label: "orphan",
            target: try #require(target)
        ) { $0.note($1) }
        let cancelled = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        try PreciseTimer.schedule(.once(after: .seconds(1)), on: virtual.service, label: "once", target: log) {
            $0.note($1)
        }
        cancelled.cancel()
        target = nil
        let active = virtual.service.activeTimers.sorted { $0.label ?? "" < $1.label ?? "" }
        #expect(active.map(\.label) == ["once", "orphan"])
        #expect(active.map(\.isTargetAlive) == [true, false])
        virtual.advance(by: .seconds(1))
        #expect(virtual.service.activeTimers == [])
        #expect(orphan.state == .ended(.targetReleased))
    }

    @Test func aRateOfOneInADurationTooLongToRepresentNeverTicks() throws {
        let log = Log()
        let schedule = PreciseTimer.Schedule.rate(1, per: .seconds(Int64.max))
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(86_400))
        #expect(log.count == 0)
        #expect(timer.nextDeadline == nil)
        #expect(virtual.service.activeTimers.map(\.nextDeadline) == [nil])
    }

    @Test(arguments: [2, 1_000_000_000_000, Int.max])
    func severalTicksInADurationTooLongToRepresentAreRefused(rate: Int) {
        let error = #expect(throws: TimerError.self) {
            _ = try PreciseTimer.schedule(.rate(rate, per: .seconds(Int64.max)), on: virtual.service) { _, _ in }
        }
        #expect(error?.code == .invalidSchedule)
        #expect(error?.attempted.contains("292 years") == true, "\(error?.attempted ?? "")")
    }
}
