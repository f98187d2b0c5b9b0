import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Carrying out a plan.
@Suite(.works("turns measure real ticks and processor time")) struct MeasurementTests {
    @Test func aMeasurementStoppedInTheWarmUpHasNoRounds() throws {
        let rows = [Row(.backend(.timerFD)), Row(.backend(.dispatch))]
        var seen: [String] = []
        var measurement = Measurement(try Short.plan(rows) { $0.warmUp = .seconds(60) })
        #expect(throws: MeasurementError.stopped) {
            try measurement.run { progress in
                seen.append(progress.row)
                return false
            }
        }
        #expect(seen.count == 1)
        #expect(measurement.rounds.isEmpty)
    }

    /// The default slack of 50 µs would put the floor above what stands on it.
    @Test(.enabled(if: ProcFS.maySchedule, "needs CAP_SYS_NICE to read another thread's slack"))
    func theFloorOfSleepsHasATimerSlackOfOneNanosecond() throws {
        var (slacks, looks): ([Int], Int) = ([], 0)
        var measurement = Measurement(try Short.plan([Row(.reference(.nanosleep))]) { $0.warmUp = .seconds(60) })
        try? measurement.run { _ in
            slacks += ProcFS.timerSlacks(ofThreadsNamed: "floor.nanosleep")
            looks += 1
            return !slacks.contains(1) && looks < 100
        }
        #expect(slacks.contains(1))
    }

    @Test func aRoundHasTheLapsThatMakeAHundredDeadlines() throws {
        let plan = try Short.plan([Row(.backend(.timerFD)), Row(.reference(.timerFD))]) { request in
            request.turn = .milliseconds(100)
            request.laps = 5
        }
        var measurement = Measurement(plan)
        try measurement.run(goesOn: { _ in true })
        let rounds = measurement.rounds
        #expect(rounds.map(\.laps) == [2, 2, 1])
        #expect(rounds.map { $0.cells.map(\.medians.count) } == [[2, 2], [2, 2], [1, 1]])
        #expect(rounds.flatMap(\.cells).allSatisfy { $0.medians.allSatisfy { ($0 ?? 0) > 0 } })
    }

    @Test func aMeasurementEndsEarlyIfItHasEnough() throws {
        let plan = try Short.plan([Row(.reference(.timerFD))]) { request in
            request.turn = .milliseconds(100)
            request.laps = 100
        }
        var measurement = Measurement(plan)
        try measurement.run(goesOn: { _ in true }, isEnough: { $0.count == 2 })
        #expect(measurement.rounds.map(\.laps) == [2, 2])
    }

    @Test func anInterruptedLapCountsAsTicksAndNotAsALap() throws {
        let rows = [Row(.reference(.timerFD)), Row(.reference(.nanosleep))]
        var turns = 0
        var measurement = Measurement(try Short.plan(rows) { $0.laps = 100 })
        #expect(throws: MeasurementError.stopped) {
            try measurement.run(goesOn: { _ in turns < 3 }, turnEnded: { _, _, _ in turns += 1 })
        }
        let round = try #require(measurement.rounds.last)
        #expect(!round.isComplete)
        // On a busy machine a turn may be over before anyone asks whether to go on.
        #expect(round.cells.map(\.medians.count).max() == round.laps + 1)
    }

    @Test func aRowNamedTwiceIsMeasuredOnce() throws {
        let floor = Row(.reference(.timerFD))
        #expect(try Short.plan([floor, floor]).rows == [floor])
    }
}

struct PatienceTests {
    @Test func aRowIsGivenUpOnlyWithoutTicks() {
        let start = TimerInstant(nanoseconds: 100)
        var patience = Patience(limit: .nanoseconds(10), now: start)
        let answers = [(0, 10), (1, 11), (1, 21), (1, 22)].map { patience.isOver(ticks: $0, now: start + $1) }
        #expect(answers == [false, false, false, true])
    }
}

@Suite struct ProgressTests {
    private func line(_ stage: Progress.Stage, elapsed: Duration, total: Duration = .seconds(12)) -> String {
        Progress(stage: stage, row: "timerfd", elapsed: elapsed, total: total).line()
    }

    @Test func theBarFillsUp() {
        #expect(line(.warmUp, elapsed: .zero) == "[                        ] warm-up: timerfd, 12 s left")
        #expect(
            line(.lap(2, of: 3), elapsed: .seconds(6))
                == "[============            ] lap 2 of 3: timerfd, 6 s left"
        )
    }

    @Test func theBarStaysFullWhenItTakesLonger() {
        let full = "[========================] lap 3 of 3: timerfd, 0 s left"
        #expect(line(.lap(3, of: 3), elapsed: .seconds(12)) == full)
        #expect(line(.lap(3, of: 3), elapsed: .seconds(1_000_000_000)) == full)
        #expect(line(.lap(3, of: 3), elapsed: .nanoseconds(5), total: .zero) == full)
    }

    @Test func aLongNameIsCutToFitTheLine() {
        let progress = Progress(
            stage: .lap(10, of: 10),
            row: "peer-libevent-precise@handler:200us",
            elapsed: .zero,
            total: .seconds(12)
        )
        #expect(progress.line().count == 79)
        #expect(progress.line().hasSuffix("…, 12 s left"))
    }
}
