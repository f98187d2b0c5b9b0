import PreciseTimer
import TestSupport
import Testing
import TimerAlarms
import TimerCore
import TimerMeasurement

/// Carrying a plan out.
struct MeasurementTests {
    @Test
    func stretchesLieWhereTheirTurnsWere() async throws {
        let plan = try Short.plan([Row(.backend(.timerFD))]) { request in
            request.duration = .milliseconds(400)
            request.rounds = 2
        }
        // What is expected on another thread would be nobody's failure.
        let (times, end) = try await onOwnThread {
            var measurement = Measurement(plan)
            let start = KernelClock.now(.suspending)
            try measurement.run(goesOn: { _ in true })
            let end = start.duration(to: KernelClock.now(.suspending))
            return (measurement.rounds.map { $0.cells[0].stretches.map(\.time) }, end)
        }
        #expect(times.joined().sorted() == Array(times.joined()))
        let last = try #require(times.last?.last)
        #expect(Duration.nanoseconds(Int64(last)) < end)
    }

    @Test
    func whoIsStoppedInTheWarmUpBeginsNothingElse() async throws {
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

    @Test
    func aRowThatIsNamedTwiceIsMeasuredOnce() throws {
        let floor = Row(.reference(.timerFD))
        #expect(try Short.plan([floor, floor]).rows == [floor])
    }
}
