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

    private func recordings(_ plan: MeasurementPlan) throws -> [Result<Recording, Failure>] {
        try #require(StretchRun(rows: plan.stretches[0], plan: plan).measure { true })
    }

    @Test(arguments: [HandlerPlace.inline, .main])
    func theDeadlinesOfTheRowsAreSpreadOverThePeriod(_ place: HandlerPlace) throws {
        let plan = try plan("timerfd,dispatch,task-sleep,sleep-for,bare") { ($0.delivery, $0.timers) = (place, 3) }
        let all = try recordings(plan).map { try $0.get() }
        let starts = all.map(\.deadlines.start.nanoseconds)
        #expect(starts.map { $0 - starts[0] } == [0, 200_000, 400_000, 600_000, 800_000])
        #expect(all.allSatisfy { $0.ticks > 0 && $0.early == 0 })
        #expect(all.allSatisfy { $0.deadlines.period == 1_000_000 })
    }

    /// A run loop cannot wait on the wall clock.
    @Test func aRowThatFailsIsNamedAndTheOthersGoOn() throws {
        let found = try recordings(try plan("runloop,timerfd,task-sleep") { $0.clock = .wall })
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

    @Test func aStoppedStretchHasNoRecordings() throws {
        let plan = try plan("timerfd,task-sleep")
        #expect(StretchRun(rows: plan.stretches[0], plan: plan).measure { false } == nil)
    }

    @Test func everyGroupHasItsStretch() throws {
        let plan = try plan("timerfd,sleep-for,bare") { request in
            (request.period, request.time, request.processors) = (.microseconds(200), .seconds(2), 1)
        }
        #expect(plan.stretches.map(\.count) == [1, 2])
        var measurement = Measurement(plan)
        #expect(try measurement.run(goesOn: { _ in true }))
        #expect(measurement.rows.allSatisfy { $0.drift != nil && $0.series != nil && $0.failure == nil })
        #expect(measurement.rows[1].drift.map { $0.ppm > $0.noise } == true, "sleep-for runs away")
    }
}
