import Glibc
import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Carrying out a plan.
struct MeasurementTests {
    @Test func aMeasurementStoppedInTheWarmUpHasNoRounds() async throws {
        let rows = [Row(.backend(.timerFD)), Row(.backend(.dispatch))]
        let (seen, rounds, wasStopped) = try await onOwnThread {
            var seen: [String] = []
            var measurement = Measurement(try Short.plan(rows) { $0.warmUp = .seconds(60) })
            do throws(MeasurementError) {
                try measurement.run { progress in
                    seen.append(progress.row)
                    return false
                }
            } catch {
                return (seen, measurement.rounds, error == .stopped)
            }
            return (seen, measurement.rounds, false)
        }
        #expect(wasStopped)
        #expect(seen.count == 1)
        #expect(rounds.isEmpty)
    }

    /// The default slack of 50 µs would put the floor above what stands on it.
    @Test(.enabled(if: geteuid() == 0, "only root may read another thread's slack for sure"))
    func theFloorOfSleepsHasATimerSlackOfOneNanosecond() async throws {
        let slacks = try await onOwnThread {
            var (slacks, looks): ([Int], Int) = ([], 0)
            var measurement = Measurement(try Short.plan([Row(.reference(.nanosleep))]) { $0.warmUp = .seconds(60) })
            try? measurement.run { _ in
                slacks += ProcFS.timerSlacks(ofThreadsNamed: "floor.nanosleep")
                looks += 1
                return !slacks.contains(1) && looks < 100
            }
            return slacks
        }
        #expect(slacks.contains(1))
    }

    @Test func aRoundHasTheLapsThatMakeAHundredDeadlines() async throws {
        let rows = [Row(.backend(.timerFD)), Row(.reference(.timerFD))]
        let rounds = try await onOwnThread {
            var measurement = Measurement(
                try Short.plan(rows) { request in
                    request.turn = .milliseconds(100)
                    request.laps = 5
                }
            )
            try measurement.run(goesOn: { _ in true })
            return measurement.rounds
        }
        #expect(rounds.map(\.laps) == [2, 2, 1])
        #expect(rounds.map { $0.cells.map(\.medians.count) } == [[2, 2], [2, 2], [1, 1]])
        #expect(rounds.flatMap(\.cells).allSatisfy { $0.medians.allSatisfy { ($0 ?? 0) > 0 } })
    }

    @Test func aMeasurementEndsEarlyIfItHasEnough() async throws {
        let rounds = try await onOwnThread {
            var measurement = Measurement(
                try Short.plan([Row(.reference(.timerFD))]) { request in
                    request.turn = .milliseconds(100)
                    request.laps = 100
                }
            )
            try measurement.run(goesOn: { _ in true }, isEnough: { $0.count == 2 })
            return measurement.rounds
        }
        #expect(rounds.map(\.laps) == [2, 2])
    }

    @Test func anInterruptedLapCountsAsTicksAndNotAsALap() async throws {
        let rows = [Row(.reference(.timerFD)), Row(.reference(.nanosleep))]
        let rounds = try await onOwnThread {
            var turns = 0
            var measurement = Measurement(try Short.plan(rows) { $0.laps = 100 })
            do throws(MeasurementError) {
                try measurement.run(goesOn: { _ in turns < 3 }, turnEnded: { _, _, _ in turns += 1 })
            } catch {}
            return measurement.rounds
        }
        let round = try #require(rounds.last)
        #expect(!round.isComplete)
        // On a busy machine a turn may be over before anyone asks whether to go on.
        #expect(round.cells.map(\.medians.count).max() == round.laps + 1)
    }

    @Test func aRowNamedTwiceIsMeasuredOnce() throws {
        let floor = Row(.reference(.timerFD))
        #expect(try Short.plan([floor, floor]).rows == [floor])
    }
}
