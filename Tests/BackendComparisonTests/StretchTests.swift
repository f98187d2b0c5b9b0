import Glibc
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

/// The stretches of several rows at the same time.
@Suite(.works("stretches measure real ticks")) struct StretchTests {
    /// A stretch of 0.3 s.
    private func plan(
        _ rows: String,
        _ change: (inout MeasurementPlan.Request) -> Void = { _ in }
    ) throws -> MeasurementPlan {
        var request = MeasurementPlan.Request(rows: try NamedRow.parse(rows))
        (request.period, request.time, request.patience) = (.milliseconds(1), .milliseconds(1_000), .seconds(120))
        change(&request)
        return try MeasurementPlan(request)
    }

    private func recordings(_ plan: MeasurementPlan) -> [Result<Recording, Failure>] {
        StretchRun(rows: plan.stretches[0], plan: plan).measure { true }
    }

    @Test(arguments: [HandlerPlace.inline, .main])
    func theDeadlinesOfTheRowsAreSpreadOverThePeriod(_ place: HandlerPlace) throws {
        let plan = try plan("timerfd,dispatch,task-sleep,sleep-for,bare") { ($0.delivery, $0.timers) = (place, 3) }
        let all = try recordings(plan).map { try $0.get() }
        let starts = all.map(\.deadlines.start.nanoseconds)
        #expect(starts.map { $0 - starts[0] } == [0, 200_000, 400_000, 600_000, 800_000])
        // Tasks wait for the threads that other tests keep busy.
        #expect(all[0].ticks > 0 && all[4].ticks > 0 && all.allSatisfy { $0.early == 0 })
        #expect(all.allSatisfy { $0.deadlines.period == 1_000_000 })
    }

    /// A run loop cannot wait on the wall clock.
    @Test func aRowThatFailsIsNamedAndTheOthersGoOn() throws {
        let found = recordings(try plan("runloop,timerfd,bare") { $0.clock = .wall })
        #expect(throws: Failure.self) { try found[0].get() }
        #expect(try found[1].get().ticks > 0 && found[2].get().ticks > 0)
    }

    @Test func aLoadThatHasEndedFailsEachRow() async {
        await #expect(processExitsWith: .success) {
            var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,bare"))
            (request.time, request.loads) = (.seconds(1), [.cpu(1)])
            let plan = try MeasurementPlan(request)
            let found = StretchRun(rows: plan.stretches[0], plan: plan)
                .measure {
                    for child in ProcFS.children(named: "sh") { kill(child, SIGKILL) }
                    return true
                }
            let words = "a program of the load cpu:1 ended: signal 9"
            #expect(found == [.failure(.failed(words)), .failure(.failed(words))])
        }
    }

    /// Ctrl-C in a stretch of 100 s must not lose its drift.
    @Test func aStoppedStretchKeepsItsTicks() async {
        await #expect(processExitsWith: .success) {
            var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,sleep-for"))
            request.time = .seconds(3)
            var measurement = Measurement(try MeasurementPlan(request))
            var looks = 0
            let hasEnded = try measurement.run(goesOn: { progress in
                if progress.stage == "long stretch" { looks += 1 }
                return looks < 6
            })
            #expect(!hasEnded && measurement.rows.allSatisfy { $0.drift != nil && $0.series != nil })
            #expect(measurement.rows.allSatisfy { $0.failure == nil })
        }
    }

    @Test func everyGroupHasItsStretch() async {
        await #expect(processExitsWith: .success) {
            var request = MeasurementPlan.Request(rows: try NamedRow.parse("timerfd,sleep-for,bare"))
            (request.period, request.time, request.processors) = (.microseconds(200), .seconds(2), 1)
            let plan = try MeasurementPlan(request)
            #expect(plan.stretches.map(\.count) == [1, 2])
            var measurement = Measurement(plan)
            #expect(try measurement.run(goesOn: { _ in true }))
            #expect(measurement.rows.allSatisfy { $0.drift != nil && $0.series != nil && $0.failure == nil })
            #expect(measurement.rows[1].drift.map { $0.ppm > 0 } == true, "sleep-for runs away")
        }
    }
}
