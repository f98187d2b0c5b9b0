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
        request.turn = .milliseconds(40)
        request.laps = 1
        request.warmUp = .zero
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

    /// The cells of the only lap.
    static func measure(
        _ rows: [Row],
        _ change: (inout MeasurementPlan.Request) -> Void = { _ in }
    ) throws -> [Cell] {
        try measureLaps(1, of: rows, change)
    }

    /// The cells of all rounds.
    static func measureLaps(
        _ count: Int,
        of rows: [Row],
        _ change: (inout MeasurementPlan.Request) -> Void = { _ in }
    ) throws -> [Cell] {
        let plan = try plan(rows) { request in
            request.laps = count
            change(&request)
        }
        var measurement = Measurement(plan)
        try measurement.run(goesOn: { _ in true })
        return measurement.rounds.flatMap(\.cells)
    }

    /// Whether a measurement of a minute can be stopped.
    static func isStopped(_ row: Row, _ goesOn: (Progress) -> Bool) throws -> Bool {
        var measurement = Measurement(try plan([row]) { $0.turn = .seconds(60) })
        do throws(MeasurementError) { try measurement.run(goesOn: goesOn) } catch { return error == .stopped }
        return false
    }

    /// Measures many turns of a row, each with two deadlines.
    static func turns(_ count: Int, of row: Row) throws {
        _ = try measure([row]) { request in
            request.period = .microseconds(200)
            request.turn = .milliseconds(2)
            request.laps = count
        }
    }
}
