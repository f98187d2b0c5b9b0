import PreciseTimer
import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Carrying out a plan.
struct MeasurementTests {
    @Test func stretchesHaveTheTimesOfTheirTurns() async throws {
        let plan = try Short.plan([Row(.backend(.timerFD))]) { request in
            request.duration = .milliseconds(400)
            request.rounds = 2
        }
        // An expectation on another thread would belong to no test.
        let (times, end) = try await onOwnThread {
            var measurement = Measurement(plan)
            let start = TimerClock.suspending.now
            try measurement.run(goesOn: { _ in true })
            let end = start.duration(to: TimerClock.suspending.now)
            return (measurement.rounds.map { $0.cells[0].stretches.all.map(\.time) }, end)
        }
        #expect(times.joined().sorted() == Array(times.joined()))
        let last = try #require(times.last?.last)
        #expect(Duration.nanoseconds(Int64(last)) < end)
    }

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

    @Test func aRowNamedTwiceIsMeasuredOnce() throws {
        let floor = Row(.reference(.timerFD))
        #expect(try Short.plan([floor, floor]).rows == [floor])
    }
}
