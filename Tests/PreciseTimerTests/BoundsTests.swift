import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Schedules with a jitter, and schedules with an end in time.
struct BoundsTests {
    private let virtual = VirtualTime(seed: 7)
    private let log = Log()

    private func schedule(
        _ schedule: PreciseTimer.Schedule,
        _ policy: PreciseTimer.MissedTickPolicy = .skip
    ) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, missedTicks: policy, target: log) { $0.note($1) }
    }

    /// The deadlines of the ticks, since the start.
    private var deadlines: [Duration] {
        log.ticks.map { TimerInstant(nanoseconds: 1_000_000_000).duration(to: $0.deadline) }
    }

    @Test func aBoundInTimeEndsTheTimer() throws {
        let timer = try schedule(.every(.seconds(3), for: .seconds(10)))
        virtual.advance(by: .seconds(60))
        #expect(deadlines == [.seconds(3), .seconds(6), .seconds(9)])
        #expect(timer.state == .ended(.completed))
        #expect(timer.period == nil)
    }

    @Test func theBoundItselfIsADeadline() throws {
        _ = try schedule(.every(.seconds(5), for: .seconds(10)))
        virtual.advance(by: .seconds(60))
        #expect(deadlines == [.seconds(5), .seconds(10)])
    }

    @Test(arguments: [PreciseTimer.MissedTickPolicy.skip, .delay])
    func oneTickStandsForTheRestAfterAStall(policy: PreciseTimer.MissedTickPolicy) throws {
        let timer = try schedule(.every(.seconds(1), for: .seconds(10)), policy)
        virtual.advance(by: .seconds(4))
        virtual.jump(by: .seconds(600))
        #expect(log.ticks.map(\.missed) == [0, 0, 0, 0, 5])
        #expect(timer.state == .ended(.completed))
    }

    @Test func catchingUpEndsWithTheBound() throws {
        _ = try schedule(.every(.seconds(1), for: .seconds(10)), .catchUp(limit: 3))
        virtual.jump(by: .seconds(600))
        #expect(log.ticks.map(\.missed) == [0, 0, 7])
    }

    @Test func aBoundBeforeTheFirstDeadlineIsRefused() throws {
        let error = #expect(throws: TimerError.self) { _ = try schedule(.every(.seconds(3), for: .seconds(2))) }
        #expect(error?.attempted == "scheduling for 2 s (that is over before the first deadline)")
        #expect(throws: TimerError.self) { _ = try schedule(.every(.seconds(3), after: .zero, for: .seconds(-1))) }
        for jitter: Duration in [.seconds(-1), .seconds(4)] {
            #expect(throws: TimerError.self) { _ = try schedule(.every(.seconds(3), jitter: jitter)) }
        }
    }

    @Test func theNarrowestBoundsAreAccepted() throws {
        _ = try schedule(.every(.seconds(3), for: .seconds(3)))
        _ = try schedule(.every(.seconds(3), after: .zero, for: .zero))
        _ = try schedule(.every(.seconds(3), jitter: .zero, for: .seconds(6)))
        virtual.advance(by: .seconds(60))
        #expect(deadlines == [.zero, .seconds(3), .seconds(3), .seconds(6)])
    }

    @Test func eachTickHasItsOwnJitterAndTheGridStays() throws {
        _ = try schedule(.every(.seconds(1), jitter: .milliseconds(400)))
        virtual.advance(by: .seconds(100))
        let offsets = zip(deadlines, 1...).map { $0 - .seconds($1) }
        let allAreWithin = offsets.allSatisfy { $0 >= .zero && $0 <= .milliseconds(400) }
        #expect(allAreWithin)
        #expect(Set(offsets).count > 90)
        #expect(log.ticks.map(\.lateness) == deadlines.map { _ in .zero })
    }

    @Test func eachTimerHasItsOwnJitter() throws {
        let others = Log()
        _ = try schedule(.every(.seconds(1), jitter: .milliseconds(400)))
        try PreciseTimer.schedule(.every(.seconds(1), jitter: .milliseconds(400)), on: virtual.service, target: others)
        {
            $0.note($1)
        }
        virtual.advance(by: .seconds(20))
        #expect(log.ticks.map(\.deadline) != others.ticks.map(\.deadline))
    }

    @Test func noJitterReachesBeyondTheEndInTime() throws {
        for _ in 0..<50 { _ = try schedule(.every(.seconds(1), jitter: .seconds(1), for: .seconds(3))) }
        virtual.advance(by: .seconds(60))
        #expect(log.count == 150)
        let last = deadlines.max() ?? .zero
        #expect(last <= .seconds(3))
        #expect(Set(deadlines).count > 90, "they have their jitter")
    }

    @Test func aTimerHasNoPeriodInItsLastHandler() throws {
        let periods = Notes<Duration?>()
        let timers = [
            try PreciseTimer.schedule(.every(.seconds(1), for: .seconds(2)), on: virtual.service) { timer, _ in
                periods.append(timer.period)
            },
            try PreciseTimer.schedule(.every(.seconds(60)), on: virtual.service) { timer, _ in
                periods.append(timer.period)
            },
        ]
        virtual.advance(by: .seconds(5))
        #expect(periods.all == [.seconds(1), nil])
        let finishing = Task.immediate { try await timers[1].finish() }
        virtual.advance(by: .zero)
        #expect(periods.all == [.seconds(1), nil, nil])
        finishing.cancel()
    }

    @Test func theSeedDeterminesTheJitter() throws {
        _ = try schedule(.every(.seconds(1), jitter: .milliseconds(400)))
        virtual.advance(by: .seconds(20))
        let (other, again) = (VirtualTime(seed: 7), Log())
        try PreciseTimer.schedule(
            .every(.seconds(1), jitter: .milliseconds(400)),
            on: other.service,
            target: again
        ) { $0.note($1) }
        other.advance(by: .seconds(20))
        #expect(again.ticks == log.ticks)
    }

    @Test func aRestartDrawsAnotherJitter() throws {
        let timer = try schedule(.every(.seconds(1), jitter: .milliseconds(400), for: .seconds(30)))
        virtual.advance(by: .milliseconds(20_500))
        let start = deadlines.count
        #expect(timer.restart())
        virtual.advance(by: .seconds(60))
        let offsets = zip(deadlines, log.ticks.map(\.index)).map { $0 - .seconds($1 + 1) }
        let later = offsets.dropFirst(20).map { $0 - .milliseconds(20_500) }
        #expect(offsets.prefix(20) != later.prefix(20))
        #expect(start == 20 && later.count == 30, "the restarted schedule has its whole time")
        #expect(timer.state == .ended(.completed))
    }

    /// A jitter of a whole period, and stalls: every deadline is counted once, and no tick is early.
    @Test func noDeadlineIsLostToALongJitter() throws {
        let timer = try schedule(.every(.seconds(1), jitter: .seconds(1), for: .seconds(1_000)))
        for step in 1...300 {
            if step % 7 == 0 {
                virtual.jump(by: .milliseconds(5_300))
            } else {
                virtual.advance(by: .milliseconds(3_700))
            }
        }
        #expect(timer.state == .ended(.completed))
        #expect(log.ticks.reduce(0) { $0 + 1 + $1.missed } == 1_000)
        let isInOrder = zip(deadlines, deadlines.dropFirst()).allSatisfy { $0 < $1 }
        #expect(isInOrder)
        // A tick stands only for deadlines that have passed with its jitter.
        let standsForFuture = log.ticks.contains { $0.deadline.advanced(by: .seconds($0.missed)) > $0.delivered }
        #expect(!standsForFuture)
        let isEarly = zip(log.ticks, deadlines).contains { $1 < .seconds(Int64($0.index) + 1) }
        #expect(!isEarly)
    }

    @Test func scheduleReadsInWords() {
        let schedule = PreciseTimer.Schedule.every(.seconds(1), jitter: .milliseconds(5), for: .seconds(10))
        #expect("\(schedule)" == "every 1 s, jitter 5 ms, for 10 s")
    }
}
