import TestSupport
import Testing
import TimerCore
import TimerMeasurement

/// Measurements that are over soon.
enum Short {
    /// Twenty deadlines of 2 ms, once.
    static func request(_ rows: [Row]) -> MeasurementPlan.Request {
        var request = MeasurementPlan.Request(rows: rows)
        request.period = .milliseconds(2)
        request.duration = .milliseconds(40)
        request.rounds = 1
        request.warmUp = .zero
        // Some rows tick on the threads that the tests themselves run on, and tests may keep those busy for long.
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

    /// The cells of its only round.
    static func measure(
        _ rows: [Row],
        _ change: (inout MeasurementPlan.Request) -> Void = { _ in }
    ) async throws -> [Cell] {
        try await measureRounds(1, of: rows, change)
    }

    /// The cells of all rounds.
    static func measureRounds(
        _ count: Int,
        of rows: [Row],
        _ change: (inout MeasurementPlan.Request) -> Void = { _ in }
    ) async throws -> [Cell] {
        let plan = try plan(rows) { request in
            request.rounds = count
            change(&request)
        }
        return try await onOwnThread {
            var measurement = Measurement(plan)
            try measurement.run(goesOn: { _ in true })
            return measurement.rounds.flatMap(\.cells)
        }
    }

    /// Whether a measurement of a minute ends as one that was stopped.
    static func isStopped(_ row: Row, _ goesOn: @escaping @Sendable (Progress) -> Bool) async throws -> Bool {
        try await onOwnThread {
            var measurement = Measurement(try plan([row]) { $0.duration = .seconds(60) })
            do throws(MeasurementError) { try measurement.run(goesOn: goesOn) } catch { return error == .stopped }
            return false
        }
    }

    /// Many turns of a row, each of two deadlines.
    static func turns(_ count: Int, of row: Row) async throws {
        _ = try await measure([row]) { request in
            request.period = .microseconds(200)
            request.duration = .milliseconds(2)
            request.rounds = count
        }
    }
}
