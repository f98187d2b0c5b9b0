import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Durations too long to represent become never, instead of a few hundred years.
struct ForeverTests {
    private let virtual = VirtualTime()
    private let log = Log()
    private static let forever = Duration.seconds(Int64.max)

    @Test func aBurstEndsWithTheLastRepresentableDeadline() throws {
        let timer = try PreciseTimer.schedule(
            .every(.nanoseconds(Int64.max - 1), after: .seconds(1)),
            on: virtual.service,
            missedTicks: .catchUp(limit: 10),
            target: log
        ) { $0.note($1) }
        timer.pause(keeping: .grid)
        for _ in 0..<3 { virtual.jump(by: .seconds(Int64.max)) }
        #expect(virtual.now.isNever)
        timer.resume()
        virtual.advance(by: .zero)
        #expect(log.ticks.map(\.index) == [0, 1])
        #expect(timer.nextDeadline == nil)
    }

    @Test func anInstantOfMoreThan292YearsIsADeadline() throws {
        let years = Duration.seconds(400 * 31_556_952)
        let instant = virtual.now.advanced(by: years)
        try PreciseTimer.schedule(.once(at: instant), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: years - .nanoseconds(1))
        #expect(log.count == 0)
        virtual.advance(by: .nanoseconds(1))
        #expect(log.ticks.map(\.deadline) == [instant])
        #expect(log.ticks.map(\.lateness) == [.zero])
    }

    @Test func aDeadlineOfNeverIsNotDueAtTheEndOfTime() throws {
        let policies: [PreciseTimer.MissedTickPolicy] = [.skip, .catchUp(limit: 3), .delay]
        for policy in policies {
            try PreciseTimer.schedule(
                .every(.nanoseconds(Int64.max), after: .seconds(1)),
                on: virtual.service,
                missedTicks: policy,
                target: log
            ) { $0.note($1) }
        }
        for _ in 0..<3 { virtual.jump(by: .seconds(Int64.max)) }
        #expect(virtual.now.isNever)
        let timer = try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(1))
        #expect(timer.nextDeadline == nil)
        #expect(log.count >= 3)
    }

    @Test(
        arguments: [
            PreciseTimer.Schedule.every(forever, after: .seconds(1)),
            .every(.nanoseconds(Int64.max) + .nanoseconds(1), after: .seconds(1)),
            .fixedDelay(forever, after: .seconds(1)),
            // More seconds than 64 bits hold.
            .every(forever * 18, after: .seconds(1)),
        ]
    )
    func aPeriodTooLongToRepresentGivesOneTick(schedule: PreciseTimer.Schedule) throws {
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        virtual.advance(by: .seconds(1))
        #expect(log.count == 1)
        #expect(timer.nextDeadline == nil)
        #expect(timer.state == .scheduled)
        // 400 years: more nanoseconds than a signed 64-bit number holds.
        for _ in 0..<2 { virtual.jump(by: .seconds(200 * 365 * 86_400)) }
        #expect(log.count == 1)
        #expect(virtual.nextDeadline == nil)
    }

    @Test(arguments: [false, true]) func aFixedDelayTooLongToRepresentCanBeRestarted(hasTicked: Bool) throws {
        let schedule = PreciseTimer.Schedule.fixedDelay(Self.forever, after: .seconds(1))
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service, target: log) { $0.note($1) }
        if hasTicked { virtual.advance(by: .seconds(1)) }
        #expect(timer.restart())
        #expect(timer.nextDeadline == nil)
        virtual.jump(by: .seconds(3_600))
        #expect(log.count == (hasTicked ? 1 : 0))
        #expect(timer.state == .scheduled)
    }
}
