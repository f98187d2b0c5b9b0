#if Instrument && DEBUG
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

@Suite struct RecordingTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1000)

    /// Ticks of a grid of 1,000 ns: index, lateness and missed deadlines. What the recording makes of them: ticks,
    /// missed, early, misplaced, the deadlines that have passed, and the problem.
    private static let cases: [([(UInt64, Int64, UInt64)], [Int], UInt64, String?)] = [
        ([(0, 5, 0), (1, 0, 0), (2, 999, 0), (3, 7, 0)], [4, 0, 0, 0], 4, nil),
        // A stall, counted, and not counted.
        ([(0, 10, 0), (1, 3500, 3), (5, 10, 0)], [3, 3, 0, 0], 6, nil),
        ([(0, 3500, 2)], [1, 2, 0, 0], 4, "1 ticks + 2 missed are not the 4 deadlines passed"),
        ([(0, 5, 0), (1, -1, 0), (2, 5, 0)], [3, 0, 1, 0], 3, "1 of 3 ticks came before their deadline"),
        ([(0, 5, 0), (2, 5, 0)], [2, 0, 0, 1], 3, "1 of 2 ticks were not for the next deadline of the grid"),
        // More ticks than the goal.
        ((0..<12).map { ($0, 5, 0) }, [10, 0, 0, 0], 10, nil),
    ]

    @Test(arguments: cases.indices) func ticksAddUp(_ index: Int) {
        let (ticks, counts, passed, problem) = Self.cases[index]
        var recording = Recording(of: deadlines, goal: 10)
        for (index, lateness, missed) in ticks {
            recording.record(Recorded.arrival(index, of: deadlines, lateness: lateness, missed: missed))
        }
        let found = [recording.ticks, Int(recording.missed), recording.early, recording.misplaced]
        #expect(found == counts)
        #expect(recording.passed == passed...passed)
        #expect(recording.problem == problem)
        #expect(recording.samples.map(\.lateness) == ticks.prefix(10).map(\.1))
        #expect(recording.accounted == UInt64(counts[0] + counts[1]))
        #expect(recording.isComplete == (counts[0] == 10))
    }

    @Test func deadlinesThatPassDuringAHopMayBeMissedOrStillToCome() {
        let areSound = (0...4 as ClosedRange<UInt64>)
            .map { missed in
                var recording = Recording(of: deadlines, goal: 10)
                var arrival = Recorded.arrival(0, of: deadlines, lateness: 3500, missed: missed)
                arrival.woke = deadlines.start + 1200
                recording.record(arrival)
                return recording.passed == 2...4 && recording.problem == nil
            }
        #expect(areSound == [false, true, true, true, false])
    }

    @Test func aDeadlineBesideTheGridIsMisplaced() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Recorded.arrival(0, of: deadlines, lateness: 5)
        arrival.deadline = arrival.deadline + 1
        recording.record(arrival)
        #expect(recording.misplaced == 1)
    }

    /// A call is for the oldest deadline without a tick, or each call is for the next deadline. A sample has its index,
    /// its lateness and its missed deadlines.
    @Test(
        arguments: [
            (.deadlines, [5, 3500, 4010], [[0, 5, 0], [1, 2500, 2], [4, 10, 0]]),
            (.calls, [5, 3500, 3600], [[0, 5, 0], [1, 2500, 0], [2, 1600, 0]]), (.deadlines, [-7], [[0, -7, 0]]),
        ] as [(Recording.Counting, [Int64], [[Int64]])]
    )
    func aCallIsForADeadline(_ counting: Recording.Counting, at times: [Int64], samples: [[Int64]]) {
        var recording = Recording(of: deadlines, goal: 10)
        for time in times {
            recording.record(at: TimerInstant(nanoseconds: UInt64(Int64(Recorded.start) + time)), counting)
        }
        #expect(recording.samples.map { [Int64($0.index), Int64($0.lateness), Int64($0.missed)] } == samples)
        #expect(recording.early == (times[0] < 0 ? 1 : 0))
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

/// Recording ticks on any thread.
@Suite(.works("threads record at the same time")) struct ProbeTests {
    /// An array that grows, or that is shared, would move.
    @Test(arguments: [Recording.Counting.calls, .deadlines])
    func recordingMovesNothingInMemory(_ counting: Recording.Counting) {
        let probe = Probe(Deadlines(start: TimerClock.suspending.now, period: 1000), goal: 1000)
        let before = Self.address(of: probe.result)
        while probe.record(at: TimerClock.suspending.now, counting) {}
        #expect(probe.result.accounted >= 1000)
        #expect(Self.address(of: probe.result) == before)
    }

    /// A turn once lacked the cause of its last tick.
    @Test func aCompleteProbeHasTheCauseOfItsLastTick() throws {
        for _ in 0..<200 {
            let deadlines = Deadlines(start: TimerClock.suspending.now, period: 1_000_000)
            let watch = LateWatch(threshold: 0)
            let probe = Probe(deadlines, goal: 1, watch: watch)
            let tick = deadlines.start.advanced(by: .milliseconds(1))
            try Thread.start("test.handler") { _ = probe.record(at: tick, .calls) }
            while !probe.progress.isComplete {}
            try #require(watch.late.count == 1)
        }
    }

    /// The address of the room for the first sample.
    private static func address(of recording: Recording) -> UInt {
        unsafe recording.samples.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}

@Suite struct TurnRecordTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1000)

    private func row(_ turn: TurnRecord, _ kind: RowKey.Kind = .backend) -> MeasuredRow {
        var row = MeasuredRow(RowKey("timerfd", kind))
        row.add(turn)
        return row
    }

    /// Coordinated omission: without the missed deadlines, a row that skips would look early. Here, ninety punctual
    /// ticks, then one that is 9.5 periods late and carries nine more deadlines.
    @Test func missedDeadlinesAreAsLateAsTheTickThatCarriesThem() {
        var recording = Recording(of: deadlines, goal: 100)
        for index in 0..<UInt64(90) { recording.record(Recorded.arrival(index, of: deadlines, lateness: 10)) }
        recording.record(Recorded.arrival(90, of: deadlines, lateness: 9500, missed: 9))
        let turn = TurnRecord(recordings: [recording])
        #expect(turn.latenesses.suffix(11) == [10, 500, 1500, 2500, 3500, 4500, 5500, 6500, 7500, 8500, 9500])
        let row = row(turn)
        #expect(row.turns.count == 1 && row.turns[0].missed == 9 && row.turns[0].median == 10 && row.problem == nil)
        #expect(row.lateness.count == 100 && row.ticks.count == 91)
        #expect(abs(row.lateness.percentile(95) - 4500) <= 90)
    }

    @Test func latenessIsSplitAtTheWakeUp() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Recorded.arrival(0, of: deadlines, lateness: 900)
        arrival.woke = deadlines[0] + 300
        recording.record(arrival)
        #expect(abs(row(TurnRecord(recordings: [recording])).hop.percentile(100) - 600) < 12)
    }

    @Test func pointsOfSeveralTimersAreInTheOrderOfDeadlines() {
        let recordings = [UInt64(0), 500]
            .map { offset in
                let deadlines = Deadlines(start: deadlines.start + offset, period: 1000)
                var recording = Recording(of: deadlines, goal: 2)
                for index in 0..<UInt64(2) {
                    recording.record(Recorded.arrival(index, of: deadlines, lateness: Int64(offset) + 1))
                }
                return recording
            }
        let turn = TurnRecord(recordings: recordings)
        #expect(turn.start == Recorded.start)
        #expect(turn.points.map { [Int64($0.time), $0.lateness] } == [[0, 1], [500, 501], [1000, 1], [1500, 501]])
        #expect(turn.elapsed == 3001 && TurnRecord(recordings: [Recorded.recording([])]).elapsed == 0)
        #expect(row(turn).lateness.count == 4)
    }

    @Test func theProblemOfATimerIsThatOfTheTurnAndAPeerHasNone() {
        let turn = TurnRecord(recordings: [Recorded.recording([5]), Recorded.recording([-5])])
        #expect(turn.problem == "1 of 1 ticks came before their deadline")
        #expect(row(turn).problem != nil && row(turn).early == 1)
        #expect(row(turn, .peer).problem == nil)
    }

    @Test func otherTextsThanAPlantedChangeAreRefused() {
        for text in ["", "timerfd", "timerfd=", "timerfd=x", "timerfd=0", "timerfd=+800us", "timerfd=+x/3%"] {
            #expect(throws: Failure.self) { try Planted.parse(text) }
        }
    }
}

struct SampleLinesTests {
    @Test func everyTickIsALine() {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1_000_000)
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 55_123))
        var arrival = Recorded.arrival(2, of: deadlines, lateness: 3_500_000, missed: 3)
        arrival.woke = TimerInstant(nanoseconds: arrival.delivered.nanoseconds - 1000)
        recording.record(arrival)
        let turn = TurnRecord(recordings: [recording, Recorded.recording([0])])
        let key = RowKey("timerfd#2", .backend, load: "cpu:2")
        #expect(
            TurnRecord.header + turn.lines(of: key, lap: 3) == """
                lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed
                3,timerfd#2,cpu:2,1,0,1000000000,55123,55123,0
                3,timerfd#2,cpu:2,1,2,1002000000,3499000,3500000,3
                3,timerfd#2,cpu:2,2,0,1000000000,0,0,0

                """
        )
    }
}
#endif
