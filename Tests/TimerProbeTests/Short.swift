import TestSupport
import Testing
import TimerProbe
import TimerResults

/// Short measurements.
enum Short {
    /// One lap of twenty deadlines of 2 ms.
    static func request(_ rows: [Row]) -> MeasurementPlan.Request {
        var request = MeasurementPlan.Request(rows: rows)
        request.period = .milliseconds(2)
        request.deadlines = 20
        request.laps = 1
        // Some rows tick on the threads of the tests themselves, which other tests may keep busy.
        request.patience = .seconds(120)
        return request
    }

    static func plan(_ rows: [Row], _ change: (inout MeasurementPlan.Request) -> Void = { _ in }) throws
        -> MeasurementPlan
    {
        var request = request(rows)
        change(&request)
        return try MeasurementPlan(request)
    }

    /// The rows of a whole measurement.
    static func measure(
        _ rows: [Row],
        _ change: (inout MeasurementPlan.Request) -> Void = { _ in }
    ) throws -> [MeasuredRow] {
        var measurement = Measurement(try plan(rows, change))
        _ = try measurement.run(goesOn: { _ in true })
        return measurement.rows
    }

    /// Whether a measurement of a minute can be stopped.
    static func isStopped(_ row: Row, _ goesOn: (Progress) -> Bool) throws -> Bool {
        var measurement = Measurement(try plan([row]) { $0.deadlines = 30_000 })
        return try !measurement.run(goesOn: goesOn)
    }

    /// Measures many turns of a row, each with ten deadlines.
    static func turns(_ count: Int, of row: Row) throws {
        _ = try measure([row]) { request in
            request.period = .microseconds(200)
            request.deadlines = 10
            request.laps = count
        }
    }
}
