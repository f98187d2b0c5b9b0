import PreciseTimer
import Testing
import TimerProbe
import TimerResults

@Suite struct RecordingTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1000)

    @Test func punctualTicksAddUp() {
        let recording = Recorded.recording([5, 0, 999, 7], period: 1000)
        #expect(recording.ticks == 4)
        #expect(recording.missed == 0)
        #expect(recording.passed == 4...4)
        #expect(recording.problem == nil)
        #expect(recording.samples.map(\.lateness) == [5, 0, 999, 7])
    }

    @Test func deadlinesMissedInAStallAreCounted() {
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 10))
        // At this tick, deadlines 1 to 4 have passed.
        recording.record(Recorded.arrival(1, of: deadlines, lateness: 3500, missed: 3))
        recording.record(Recorded.arrival(5, of: deadlines, lateness: 10))
        #expect(recording.ticks == 3)
        #expect(recording.missed == 3)
        #expect(recording.accounted == 6)
        #expect(recording.passed == 6...6)
        #expect(recording.problem == nil)
        #expect(!recording.isComplete)
    }

    @Test func anUncountedMissedDeadlineIsAProblem() {
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 3500, missed: 2))
        #expect(recording.problem == "1 ticks + 2 missed are not the 4 deadlines passed")
    }

    @Test func deadlinesThatPassDuringAHopMayBeMissedOrStillToCome() {
        for (missed, isSound) in [(0, false), (1, true), (2, true), (3, true), (4, false)] as [(UInt64, Bool)] {
            var recording = Recording(of: deadlines, goal: 10)
            var arrival = Recorded.arrival(0, of: deadlines, lateness: 3500, missed: missed)
            arrival.woke = deadlines.start + 1200
            recording.record(arrival)
            #expect(recording.passed == 2...4)
            #expect((recording.problem == nil) == isSound, "\(missed) missed")
        }
    }

    @Test func anEarlyTickIsAProblem() {
        let recording = Recorded.recording([5, -1, 5], period: 1000)
        #expect(recording.early == 1)
        #expect(recording.problem == "1 of 3 ticks came before their deadline")
    }

    @Test func aSkippedIndexIsAProblem() {
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 5))
        recording.record(Recorded.arrival(2, of: deadlines, lateness: 5))
        #expect(recording.misplaced == 1)
        #expect(recording.problem == "1 of 2 ticks were not for the next deadline of the grid")
    }

    @Test func aDeadlineBesideTheGridIsMisplaced() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Recorded.arrival(0, of: deadlines, lateness: 5)
        arrival.deadline = arrival.deadline + 1
        recording.record(arrival)
        #expect(recording.misplaced == 1)
    }

    @Test func ticksAfterTheGoalAreIgnored() {
        var recording = Recording(of: deadlines, goal: 2)
        for index in 0..<5 { recording.record(Recorded.arrival(UInt64(index), of: deadlines, lateness: 5)) }
        #expect(recording.ticks == 2)
        #expect(recording.isComplete)
        #expect(recording.problem == nil)
    }

    @Test func aDeadlineHasPassedAtItsInstant() {
        #expect(deadlines.passed(at: TimerInstant(nanoseconds: Recorded.start - 1)) == 0)
        #expect(deadlines.passed(at: TimerInstant(nanoseconds: Recorded.start)) == 1)
        #expect(deadlines.passed(at: TimerInstant(nanoseconds: Recorded.start + 999)) == 1)
        #expect(deadlines.passed(at: TimerInstant(nanoseconds: Recorded.start + 1000)) == 2)
    }

    @Test func aCallIsForTheOldestDeadlineWithoutATick() {
        var recording = Recording(of: deadlines, goal: 10)
        for time in [5, 3500, 4010] { recording.record(at: deadlines.start + UInt64(time), .deadlines) }
        #expect(recording.samples.map(\.index) == [0, 1, 4])
        #expect(recording.samples.map(\.lateness) == [5, 2500, 10])
        #expect(recording.samples.map(\.missed) == [0, 2, 0])
        #expect(recording.accounted == 5)
        #expect(recording.problem == nil)
    }

    @Test func enoughCallsMissNothing() {
        var recording = Recording(of: deadlines, goal: 10)
        for time in [5, 3500, 3600] { recording.record(at: deadlines.start + UInt64(time), .calls) }
        #expect(recording.samples.map(\.index) == [0, 1, 2])
        #expect(recording.samples.map(\.lateness) == [5, 2500, 1600])
        #expect(recording.missed == 0)
        #expect(recording.accounted == 3)
    }

    @Test func aCallBeforeItsDeadlineIsAnEarlyTick() {
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(at: TimerInstant(nanoseconds: Recorded.start - 7), .deadlines)
        #expect(recording.samples.map(\.lateness) == [-7])
        #expect(recording.early == 1)
        #expect(recording.missed == 0)
    }
}

/// Recordings with known results.
enum Recorded {
    /// Deadline 0 of all recordings, in nanoseconds.
    static let start: UInt64 = 1_000_000_000

    /// A tick for every deadline, with its lateness in nanoseconds.
    static func recording(_ latenesses: [Int64], period: UInt64 = 1_000_000) -> Recording {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: start), period: period)
        var recording = Recording(of: deadlines, goal: UInt64(latenesses.count))
        for (index, lateness) in latenesses.enumerated() {
            recording.record(arrival(UInt64(index), of: deadlines, lateness: lateness))
        }
        return recording
    }

    /// A tick for a deadline, with the same reading of the clock at the wake-up and at the handler.
    static func arrival(
        _ index: UInt64,
        of deadlines: Deadlines,
        lateness: Int64,
        missed: UInt64 = 0
    ) -> Recording.Arrival {
        let deadline = deadlines[index]
        let now = TimerInstant(nanoseconds: UInt64(Int64(deadline.nanoseconds) + lateness))
        return Recording.Arrival(index: index, deadline: deadline, missed: missed, woke: now, delivered: now)
    }
}

extension TimerInstant {
    /// The instant some nanoseconds later.
    static func + (instant: TimerInstant, nanoseconds: UInt64) -> TimerInstant {
        instant.advanced(by: .nanoseconds(nanoseconds))
    }
}
