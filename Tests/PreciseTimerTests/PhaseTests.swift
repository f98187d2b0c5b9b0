import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// A change of the period that keeps the phase: the next deadline stays where it is, and keeps its number.
struct PhaseTests {
    private let virtual = VirtualTime()
    private let log = Log()

    /// The deadlines of the ticks, in milliseconds from the start.
    private var deadlines: [Int] {
        let start = TimerInstant(nanoseconds: 1_000_000_000)
        return log.ticks.map { Int(start.duration(to: $0.deadline) / .milliseconds(1)) }
    }

    private func schedule(_ schedule: PreciseTimer.Schedule, paused: Bool = false) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, paused: paused, target: log) { $0.note($1) }
    }

    @Test func aTempoThatIsSetEveryTenMillisecondsKeepsItsPulse() throws {
        let timer = try schedule(.rate(48, per: .seconds(1)))
        virtual.advance(by: .seconds(1))
        let before = log.count
        for turn in 0..<100 {
            try timer.reschedule(.rate(24 * (120 + turn % 3), per: .seconds(60)), keeping: .phase)
            virtual.advance(by: .milliseconds(10))
        }
        #expect((48...50).contains(log.count - before), "as many pulses as in a second without the knob")
        #expect(log.ticks.map(\.index) == Array(0..<log.count), "the numbers go on")
    }

    @Test func theNextDeadlineStaysAndTheNewStepsCountFromIt() throws {
        let timer = try schedule(.every(.milliseconds(100)))
        virtual.advance(by: .milliseconds(250))
        try timer.reschedule(.every(.milliseconds(30)), keeping: .phase)
        #expect(timer.period == .milliseconds(30) && timer.remaining == .milliseconds(50))
        virtual.advance(by: .milliseconds(110))
        #expect(deadlines == [100, 200, 300, 330, 360])
        try timer.reschedule(.rate(3, per: .milliseconds(100), count: 4), keeping: .phase)
        virtual.advance(by: .seconds(1))
        #expect(deadlines.suffix(4) == [390, 423, 456, 490])
        #expect(timer.state == .ended(.completed), "the count is that of the new schedule")
    }

    @Test func deadlinesThatPassInALateTickAreCountedByTheNewSteps() throws {
        let timer = try schedule(.every(.milliseconds(100)))
        virtual.advance(by: .milliseconds(150))
        try timer.reschedule(.every(.milliseconds(10)), keeping: .phase)
        virtual.jump(by: .milliseconds(85))
        #expect(log.ticks.map(\.missed) == [0, 3])
        virtual.advance(by: .milliseconds(10))
        #expect(log.ticks.map(\.index) == [0, 1, 5])
    }

    @Test func aChangeInTheHandlerCountsFromTheFollowingDeadline() throws {
        let timer = try PreciseTimer.schedule(.every(.milliseconds(100)), on: virtual.service) { [log] timer, tick in
            log.note(tick)
            try? timer.reschedule(.every(.milliseconds(20)), keeping: .phase)
        }
        virtual.advance(by: .milliseconds(250))
        #expect(deadlines == [100, 200, 220, 240])
        withExtendedLifetime(timer) {}
    }

    @Test func aHeldTimerKeepsWhatRemains() throws {
        let timer = try schedule(.every(.milliseconds(100)))
        virtual.advance(by: .milliseconds(40))
        timer.pause()
        try timer.reschedule(.every(.milliseconds(10)), keeping: .phase)
        virtual.advance(by: .seconds(1))
        #expect(timer.remaining == .milliseconds(60))
        timer.resume()
        virtual.advance(by: .milliseconds(70))
        #expect(deadlines == [1_100, 1_110])
    }

    @Test func aRequestedTickStays() throws {
        let timer = try schedule(.every(.milliseconds(100)))
        timer.fire()
        try timer.reschedule(.every(.milliseconds(10)), keeping: .phase)
        virtual.advance(by: .milliseconds(110))
        #expect(deadlines == [0, 100, 110])
    }

    @Test(arguments: [PreciseTimer.Schedule.onDemand, .fixedDelay(.milliseconds(50), count: 1)])
    func withoutADeadlineTheStepsCountFromNow(first: PreciseTimer.Schedule) throws {
        let timer = try PreciseTimer.schedule(first, on: virtual.service) { [log] timer, tick in
            log.note(tick)
            try? timer.reschedule(.every(.milliseconds(20)), keeping: .phase)
        }
        if first == .onDemand { try timer.reschedule(.every(.milliseconds(20)), keeping: .phase) }
        virtual.advance(by: .milliseconds(95))
        #expect(log.count >= 3 && timer.period == .milliseconds(20))
    }

    @Test func theAlarmThatRepeatedFollows() throws {
        let timer = try schedule(.every(.milliseconds(10)))
        virtual.advance(by: .milliseconds(100))
        try timer.reschedule(.every(.milliseconds(7)), keeping: .phase)
        virtual.advance(by: .milliseconds(31))
        #expect(deadlines.suffix(4) == [110, 117, 124, 131])
        #expect(log.ticks.allSatisfy { $0.lateness == .zero })
    }

    @Test(arguments: [
        PreciseTimer.Schedule.once(after: .seconds(1)), .onDemand, .fixedDelay(.seconds(1)),
        .every(.seconds(1), after: .zero), .every(.seconds(1), spread: .seconds(1)),
        .every(.seconds(1), at: TimerInstant(nanoseconds: 5)), .every(.seconds(1), for: .seconds(9)), .every(.zero),
        .rate(0, per: .seconds(1)), .computed { $0.advanced(by: .seconds(1)) },
    ])
    func aScheduleWithoutAPhaseIsRefusedAndTheTimerStaysAsItWas(schedule other: PreciseTimer.Schedule) throws {
        let timer = try schedule(.every(.milliseconds(100)))
        let error = #expect(throws: TimerError.self) { try timer.reschedule(other, keeping: .phase) }
        #expect(error?.code == .invalidSchedule)
        virtual.advance(by: .milliseconds(200))
        #expect(deadlines == [100, 200])
    }

    /// The next deadline has passed when the timer is finished, and its handler then changes the period.
    @Test(.waits("a task finishes the timer"))
    func aTimerThatIsFinishedCanBeChangedByItsLastHandlerAndGoesOn() async throws {
        let (virtual, finishing) = (virtual, Box<Task<Bool, any Error>>())
        let timer = try PreciseTimer.schedule(.every(.milliseconds(100)), on: virtual.service) { timer, tick in
            if tick.index > 0 { return }
            virtual.jump(by: .milliseconds(150))
            finishing.value = Task.immediate { try await timer.finish() }
            try? timer.reschedule(.every(.milliseconds(50)), keeping: .phase)
        }
        virtual.advanceWithoutSettling(by: .milliseconds(400))
        #expect(try await finishing.value?.value == true, "asked inside the handler, it does not wait")
        #expect(timer.state == .scheduled && timer.fire() && timer.pause())
        timer.cancel()
    }

    @Test func computedDeadlinesHaveNoPhase() throws {
        let timer = try schedule(.computed { $0.advanced(by: .milliseconds(100)) })
        let error = #expect(throws: TimerError.self) { try timer.reschedule(.every(.seconds(1)), keeping: .phase) }
        #expect(error?.code == .invalidSchedule)
        virtual.advance(by: .milliseconds(200))
        #expect(deadlines == [100, 200])
    }

    @Test func aTimerThatHasEndedIsNotRescheduled() throws {
        let timer = try schedule(.every(.milliseconds(100)))
        timer.cancel()
        let error = #expect(throws: TimerError.self) { try timer.reschedule(.every(.seconds(1)), keeping: .phase) }
        #expect(error?.code == .timerEnded)
    }

    @Test func aRateMayBeginAtAnInstant() throws {
        let start = virtual.now.advanced(by: .milliseconds(250))
        let timer = try schedule(.rate(3, per: .milliseconds(100), at: start))
        virtual.advance(by: .milliseconds(350))
        #expect(deadlines == [250, 283, 316, 350])
        #expect(log.ticks.map(\.deadline)[1] == start.advanced(by: .nanoseconds(33_333_334)), "rounded up")
        withExtendedLifetime(timer) {}
    }
}
