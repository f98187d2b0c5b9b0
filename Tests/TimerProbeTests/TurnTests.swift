import PreciseTimer
import Testing
import TimerProbe
import TimerResults

@Suite struct TurnTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1000)

    /// Ninety punctual ticks, then a tick that is 9.5 periods late and carries nine more deadlines.
    private var stalled: Turn {
        var recording = Recording(of: deadlines, goal: 100)
        for index in 0..<90 { recording.record(Recorded.arrival(UInt64(index), of: deadlines, lateness: 10)) }
        recording.record(Recorded.arrival(90, of: deadlines, lateness: 9500, missed: 9))
        return Turn([recording])
    }

    private func cell(_ turn: Turn, _ kind: RowKey.Kind = .backend) -> Cell {
        let key = RowKey(row: "timerfd", kind: kind, load: RowKey.idle)
        return Cell(key, turn, cost: Cost(cpu: 0, wakeUps: 0, contextSwitches: 0))
    }

    @Test func missedDeadlinesAreAsLateAsTheTickThatCarriesThem() {
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 3500, missed: 3))
        let omitted = Array(Turn([recording]).omitted)
        #expect(omitted == [2500, 1500, 500])
    }

    @Test func theCorrectedPercentilesIncludeAStall() {
        let cell = cell(stalled)
        #expect(cell.ticks == 91)
        #expect(cell.missed == 9)
        #expect(cell.problem == nil)
        #expect(cell.lateness.moments.count == 91)
        #expect([50, 95, 98].map(cell.lateness.percentile) == [10, 10, 10])
        #expect(cell.corrected.moments.count == 100)
        // The last ten of a hundred are 500, 1500 and so on to 9500.
        let expected: [(Double, Int64)] = [(50, 10), (90, 10), (91, 500), (95, 4500), (99, 8500), (100, 9500)]
        for (percent, lateness) in expected {
            let corrected = cell.corrected.percentile(percent)
            #expect(abs(corrected - lateness) <= lateness / 1000)
        }
        #expect(cell.corrected.moments.max == 9500)
    }

    @Test func withoutAStallTheCorrectedLatenessIsTheSame() {
        let cell = cell(Turn([Recorded.recording([5, 70, 3])]))
        #expect(cell.corrected == cell.lateness)
        #expect(cell.omitted.moments.count == 0)
    }

    @Test func latenessIsSplitAtTheWakeUp() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Recorded.arrival(0, of: deadlines, lateness: 900)
        arrival.woke = deadlines[0] + 300
        recording.record(arrival)
        let cell = cell(Turn([recording]))
        #expect(cell.wake.moments.max == 300)
        #expect(cell.hop.moments.max == 600)
        #expect(cell.lateness.moments.max == 900)
    }

    @Test func theElapsedTimeHasAPeriodForEachTick() {
        #expect(Turn([Recorded.recording([5, 5, 5, 5], period: 1000)]).elapsed == 4005)
        #expect(Turn([Recorded.recording([], period: 1000)]).elapsed == 0)
    }

    @Test func intervalErrorsCompareGapsWithThoseOfTheDeadlines() {
        let turn = Turn([Recorded.recording([5, 15, 2]), Recorded.recording([100, 100])])
        let errors = Array(turn.intervalErrors)
        #expect(errors == [10, 13, 0])
    }

    @Test func pointsOfSeveralTimersAreInTheOrderOfDeadlines() {
        let recordings = [0, 500]
            .map { offset in
                var recording = Recording(
                    of: Deadlines(start: deadlines.start + UInt64(offset), period: 1000),
                    goal: 2
                )
                for index in 0..<2 {
                    recording.record(
                        Recorded.arrival(UInt64(index), of: recording.deadlines, lateness: Int64(offset + 1))
                    )
                }
                return recording
            }
        let turn = Turn(recordings)
        #expect(turn.start == Recorded.start)
        #expect(turn.points.map(\.time) == [0, 500, 1000, 1500])
        #expect(turn.points.map(\.lateness) == [1, 501, 1, 501])
        #expect(turn.elapsed == 3001)
        let cell = cell(turn)
        #expect(cell.ticks == 4)
        #expect(cell.lateness.moments.count == 4)
        #expect(cell.elapsed == 3001)
    }

    @Test func theProblemOfATimerIsThatOfTheTurn() {
        let turn = Turn([Recorded.recording([5]), Recorded.recording([-5])])
        #expect(turn.problem == "1 of 1 ticks came before their deadline")
    }

    @Test func aPeerHasNoProblem() {
        let turn = Turn([Recorded.recording([-5])])
        #expect(cell(turn, .peer).problem == nil)
        #expect(cell(turn, .backend).problem != nil)
    }
}

struct SampleLinesTests {
    @Test func everyTickIsALine() {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1_000_000)
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 55_123))
        recording.record(Recorded.arrival(1, of: deadlines, lateness: -7))
        var arrival = Recorded.arrival(2, of: deadlines, lateness: 3_500_000, missed: 3)
        arrival.woke = TimerInstant(nanoseconds: arrival.delivered.nanoseconds - 1000)
        recording.record(arrival)
        let turn = Turn([recording, Recorded.recording([0])])
        let key = RowKey(row: "timerfd#2", kind: .backend, load: "cpu:2")
        #expect(
            SampleLines.header + SampleLines.lines(turn, of: key, lap: 3) == """
                lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed
                3,timerfd#2,cpu:2,1,0,1000000000,55123,55123,0
                3,timerfd#2,cpu:2,1,1,1001000000,-7,-7,0
                3,timerfd#2,cpu:2,1,2,1002000000,3499000,3500000,3
                3,timerfd#2,cpu:2,2,0,1000000000,0,0,0

                """
        )
    }
}
