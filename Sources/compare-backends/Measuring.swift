internal import FoundationEssentials
internal import TimerProbe
internal import TimerResults

/// Carries out a plan for a user: shows progress, obeys Ctrl-C, and writes the ticks.
struct Measuring {
    private let plan: MeasurementPlan
    /// What the plan's rows obtained of the system.
    private let grants: [Grant]
    private let ticks: TickFile?
    private var rounds: [Round] = []
    private var origin: Origin?
    /// Why the measurement ended early; nil if it did not.
    private var failure: MeasurementError?
    /// Why the ticks could not be written; nil if they could.
    private var writing: (any Error)?

    /// What ends the measurement before its last lap; nil for nothing.
    private var precision: Precision?
    /// Whether that has ended it.
    private var isEnough = false

    init(
        plan: MeasurementPlan,
        grants: [Grant] = [],
        ticks: TickFile? = nil,
        until precision: Precision? = nil
    ) {
        self.plan = plan
        self.grants = grants
        self.ticks = ticks
        self.precision = precision
    }

    mutating func run(_ console: inout Console) {
        let start = Date.now
        var measurement = Measurement(plan)
        var writing: (any Error)?
        do throws(MeasurementError) {
            try measurement.run { progress in
                console.show(progress, note: precision?.progress ?? "")
                return !console.isInterrupted && writing == nil
            } turnEnded: { lap, key, turn in
                do { try ticks?.append(lap, key, turn) } catch { writing = error }
            } isEnough: { rounds in
                let results = Results(hosts: [], options: plan.options, rounds: rounds)
                isEnough = precision?.isEnough(laps: results.laps) { results } ?? false
                return isEnough
            }
        } catch {
            failure = error
        }
        console.clear()
        if failure == nil, let note = precision?.note { console.note(note) }
        self.writing = writing
        rounds = measurement.rounds
        origin = Version.origin(since: start)
    }

    /// The report; nil if nothing was measured.
    var report: Report? {
        guard !rounds.isEmpty else { return nil }
        let host = Host.current
        var options = plan.options
        if isEnough { options.laps = rounds.reduce(0) { $0 + $1.laps } }
        return Report(
            Results(
                hosts: [host],
                origins: [origin].compactMap(\.self),
                options: options,
                remarks: Remark.all(for: plan, on: host),
                grants: grants,
                rounds: rounds
            )
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
