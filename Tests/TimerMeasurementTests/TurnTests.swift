import Testing
import TimerCore
import TimerMeasurement

@Suite struct TurnTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Synthetic.start), period: 1000)

    /// Ninety punctual ticks, then one that comes 9.5 periods late and carries nine more deadlines.
    private var stalled: Turn {
        var recording = Recording(of: deadlines, goal: 100)
        for index in 0..<90 { recording.record(Synthetic.arrival(UInt64(index), of: deadlines, lateness: 10)) }
        recording.record(Synthetic.arrival(90, of: deadlines, lateness: 9500, missed: 9))
        return Turn([recording])
    }

    private func cell(_ turn: Turn) -> Cell {
        Cell(Synthetic.case("timerfd"), turn, cost: Cost(cpu: 0, wakeUps: 0, contextSwitches: 0), at: 7)
    }

    @Test func missedDeadlinesAreAsLateAsTheTickThatCarriesThem() {
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Synthetic.arrival(0, of: deadlines, lateness: 3500, missed: 3))
        let omitted = Array(Turn([recording]).omitted)
        #expect(omitted == [2500, 1500, 500])
    }

    @Test func aKnownStallGivesTheCorrectedPercentiles() {
        let cell = cell(stalled)
        #expect(cell.ticks == 91)
        #expect(cell.missed == 9)
        #expect(cell.fault == nil)
        #expect(cell.lateness.moments.count == 91)
        #expect(cell.lateness.percentiles([50, 95, 98]) == [10, 10, 10])
        #expect(cell.corrected.moments.count == 100)
        // The last ten of a hundred are 500, 1500 and so on to 9500.
        let expected: [(Double, Int64)] = [(50, 10), (90, 10), (91, 500), (95, 4500), (99, 8500), (100, 9500)]
        for (percent, lateness) in expected {
            let corrected = cell.corrected.percentile(percent)
            #expect(abs(corrected - lateness) <= lateness / 1000)
        }
        #expect(cell.corrected.moments.max == 9500)
    }

    @Test func withoutAStallNothingIsCorrected() {
        let cell = cell(Turn([Synthetic.recording([5, 70, 3])]))
        #expect(cell.corrected == cell.lateness)
        #expect(cell.omitted.moments.count == 0)
    }

    @Test func latenessIsSplitAtTheWake() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Synthetic.arrival(0, of: deadlines, lateness: 900)
        arrival.woke = deadlines[0].moved(by: 300)
        recording.record(arrival)
        let cell = cell(Turn([recording]))
        #expect(cell.wake.moments.max == 300)
        #expect(cell.hop.moments.max == 600)
        #expect(cell.lateness.moments.max == 900)
    }

    @Test func ticksArePaidForOverAPeriodEach() {
        #expect(Turn([Synthetic.recording([5, 5, 5, 5], period: 1000)]).elapsed == 4005)
        #expect(Turn([Synthetic.recording([], period: 1000)]).elapsed == 0)
        let cell = Synthetic.cell(Synthetic.case("timerfd"), Array(repeating: 0, count: 10))
        #expect(Report(Synthetic.results([[cell]])).rows[0].cpuPercent == 1)
    }

    @Test func gapsAreComparedWithTheirDeadlines() {
        let turn = Turn([Synthetic.recording([5, 15, 2]), Synthetic.recording([100, 100])])
        let errors = Array(turn.intervalErrors)
        #expect(errors == [10, 13, 0])
    }

    @Test func theTicksOfSeveralTimersComeInTheOrderOfTheirDeadlines() {
        let recordings = [0, 500]
            .map { offset in
                var recording = Recording(
                    of: Deadlines(start: deadlines.start.moved(by: UInt64(offset)), period: 1000),
                    goal: 2
                )
                for index in 0..<2 {
                    recording.record(
                        Synthetic.arrival(UInt64(index), of: recording.deadlines, lateness: Int64(offset + 1))
                    )
                }
                return recording
            }
        let turn = Turn(recordings)
        #expect(turn.start == Synthetic.start)
        #expect(turn.points.map(\.time) == [0, 500, 1000, 1500])
        #expect(turn.points.map(\.lateness) == [1, 501, 1, 501])
        #expect(turn.elapsed == 3001)
        let cell = cell(turn)
        #expect(cell.ticks == 4)
        #expect(cell.lateness.moments.count == 4)
        #expect(cell.elapsed == 3001)
        #expect(cell.stretches.map(\.time) == [7])
    }

    @Test func anyTimersFaultIsTheTurns() {
        let turn = Turn([Synthetic.recording([5]), Synthetic.recording([-5])])
        #expect(turn.fault == "1 of 1 ticks came before their deadline")
    }

    @Test func ofPeersNothingIsExpected() {
        let turn = Turn([Synthetic.recording([-5])])
        let cost = Cost(cpu: 0, wakeUps: 0, contextSwitches: 0)
        #expect(Cell(Synthetic.case("peer-libevent", .peer), turn, cost: cost, at: 0).fault == nil)
        #expect(Cell(Synthetic.case("timerfd"), turn, cost: cost, at: 0).fault != nil)
    }

    @Test func stretchesHoldTheMedianAndTheGreatest() {
        // 99 ms have room for seven stretches of 12.5 ms.
        let points = (0..<100).map { Turn.Point(time: UInt64($0) * 1_000_000, lateness: Int64($0)) }
        let stretches = Stretch.of(points, from: 5)
        #expect(stretches.count == 7)
        #expect(stretches.first == Stretch(time: 5, median: 7, greatest: 13))
        #expect(stretches.dropFirst().first == Stretch(time: 14_000_005, median: 21, greatest: 27))
        #expect(stretches.last?.greatest == 99)
    }

    @Test func stretchesAreNeitherNoneNorEndless() {
        let points = (0..<10_000).map { Turn.Point(time: UInt64($0) * 1_000_000, lateness: 1) }
        #expect(Stretch.of(points, from: 0).count == 64)
        #expect(Stretch.of(Array(points[..<1]), from: 3) == [Stretch(time: 3, median: 1, greatest: 1)])
        #expect(Stretch.of([], from: 0).isEmpty)
    }
}
