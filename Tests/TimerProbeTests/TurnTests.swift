import PreciseTimer
import Testing
import TimerProbe
import TimerResults

@Suite struct TurnRecordTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1000)

    private func row(_ turn: TurnRecord, _ kind: RowKey.Kind = .backend) -> MeasuredRow {
        var row = MeasuredRow(RowKey("timerfd", kind))
        row.add(turn)
        return row
    }

    /// Ninety punctual ticks, then a tick that is 9.5 periods late and carries nine more deadlines.
    private var stalled: TurnRecord {
        var recording = Recording(of: deadlines, goal: 100)
        for index in 0..<90 { recording.record(Recorded.arrival(UInt64(index), of: deadlines, lateness: 10)) }
        recording.record(Recorded.arrival(90, of: deadlines, lateness: 9500, missed: 9))
        return TurnRecord([recording])
    }

    /// Coordinated omission: without the missed deadlines, a row that skips would look early.
    @Test func missedDeadlinesAreAsLateAsTheTickThatCarriesThem() {
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 3500, missed: 3))
        #expect(TurnRecord([recording]).latenesses == [500, 1500, 2500, 3500])
        let row = row(stalled)
        #expect(row.turns.count == 1 && row.turns[0].missed == 9 && row.turns[0].median == 10)
        #expect(row.problem == nil)
        #expect(row.lateness.count == 100 && row.ticks.count == 91)
        for (percent, lateness) in [(50, 10), (90, 10), (91, 500), (95, 4500), (99, 8500), (100, 9500)]
            as [(Double, Double)]
        {
            #expect(abs(row.lateness.percentile(percent) - lateness) <= lateness / 50)
        }
    }

    @Test func latenessIsSplitAtTheWakeUp() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Recorded.arrival(0, of: deadlines, lateness: 900)
        arrival.woke = deadlines[0] + 300
        recording.record(arrival)
        #expect(abs(row(TurnRecord([recording])).hop.percentile(100) - 600) < 12)
    }

    @Test func theElapsedTimeHasAPeriodForEachTick() {
        #expect(TurnRecord([Recorded.recording([5, 5, 5, 5], period: 1000)]).elapsed == 4005)
        #expect(TurnRecord([Recorded.recording([], period: 1000)]).elapsed == 0)
        #expect(row(TurnRecord([Recorded.recording([])])).turns.isEmpty)
        #expect(row(TurnRecord([])).turns.isEmpty)
    }

    @Test func pointsOfSeveralTimersAreInTheOrderOfDeadlines() {
        let recordings = [0, 500]
            .map { offset in
                var recording = Recording(of: Deadlines(start: deadlines.start + UInt64(offset), period: 1000), goal: 2)
                for index in 0..<2 {
                    recording.record(
                        Recorded.arrival(UInt64(index), of: recording.deadlines, lateness: Int64(offset + 1))
                    )
                }
                return recording
            }
        let turn = TurnRecord(recordings)
        #expect(turn.start == Recorded.start)
        #expect(turn.points.map(\.time) == [0, 500, 1000, 1500])
        #expect(turn.points.map(\.lateness) == [1, 501, 1, 501])
        #expect(turn.elapsed == 3001)
        #expect(row(turn).lateness.count == 4)
    }

    @Test func theProblemOfATimerIsThatOfTheTurnAndAPeerHasNone() {
        let turn = TurnRecord([Recorded.recording([5]), Recorded.recording([-5])])
        #expect(turn.problem == "1 of 1 ticks came before their deadline")
        #expect(row(turn).problem != nil && row(turn).early == 1)
        #expect(row(turn, .peer).problem == nil)
    }

    @Test func aPlantedChangeIsWhatItsTextSays() throws {
        let (factor, tail) = (try Planted.parse("timerfd#2=1.1"), try Planted.parse("libevent=+800us/3%"))
        #expect(factor.row == "timerfd#2" && factor.factor == 1.1 && factor.share == 0)
        #expect(tail.row == "libevent" && tail.factor == 1 && tail.delay == 800_000 && tail.share == 0.03)
        for text in ["", "timerfd", "timerfd=", "timerfd=x", "timerfd=0", "timerfd=+800us", "timerfd=+x/3%"] {
            #expect(throws: Problem.self) { try Planted.parse(text) }
        }
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
        let turn = TurnRecord([recording, Recorded.recording([0])])
        let key = RowKey("timerfd#2", .backend, load: "cpu:2")
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
