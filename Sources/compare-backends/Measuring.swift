internal import TimerProbe
internal import TimerResults

/// Carries out a plan for a user: shows progress, obeys Ctrl-C, and writes the ticks.
struct Measuring {
    private let plan: MeasurementPlan
    private let ticks: TickFile?
    private var rounds: [Round] = []
    /// Why the measurement ended early; nil if it did not.
    private var failure: MeasurementError?
    /// Why the ticks could not be written; nil if they could.
    private var writing: (any Error)?

    init(plan: MeasurementPlan, ticks: TickFile? = nil) {
        self.plan = plan
        self.ticks = ticks
    }

    mutating func run(_ console: inout Console) {
        var measurement = Measurement(plan)
        var writing: (any Error)?
        do throws(MeasurementError) {
            try measurement.run { progress in
                console.show(progress)
                return !console.isInterrupted && writing == nil
            } turnEnded: { round, key, turn in
                do { try ticks?.append(round, key, turn) } catch { writing = error }
            }
        } catch {
            failure = error
        }
        console.clear()
        self.writing = writing
        rounds = measurement.rounds
    }

    /// The report; nil if nothing was measured.
    var report: Report? {
        guard !rounds.isEmpty else { return nil }
        let host = Host.current
        return Report(
            Results(hosts: [host], options: plan.options, remarks: Remark.all(for: plan, on: host), rounds: rounds)
        )
    }

    /// Whether the measurement ended early, or ticks could not be written.
    var isIncomplete: Bool { failure != nil || writing != nil }

    /// The error of an incomplete measurement.
    func error(leaving results: String) -> any Error {
        if let writing { return writing }
        guard failure == .stopped else { return Exit.failed(failure.map { "\($0)" } ?? "nothing was measured") }
        return Exit.interrupted(leaving: results)
    }
}
