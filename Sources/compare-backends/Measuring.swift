internal import ArgumentParser
internal import TimerMeasurement

/// Carries a plan out in front of a person: shows progress, hears Ctrl-C, hands the ticks on.
struct Measuring {
    private let plan: MeasurementPlan
    private let samples: SampleFile?
    private var rounds: [Round] = []
    /// Why it ended early; nil where it did not.
    private var failure: MeasurementError?
    /// Why the ticks could not be written; nil where they could.
    private var writing: (any Error)?

    init(plan: MeasurementPlan, samples: SampleFile? = nil) {
        self.plan = plan
        self.samples = samples
    }

    /// Measures.
    mutating func run(_ console: inout Console) {
        var measurement = Measurement(plan)
        var writing: (any Error)?
        do throws(MeasurementError) {
            try measurement.run { progress in
                console.show(progress)
                return !console.isInterrupted && writing == nil
            } turnEnded: { round, load, turn in
                do { try samples?.append(round, load, turn) } catch { writing = error }
            }
        } catch {
            failure = error
        }
        console.clear()
        self.writing = writing
        rounds = measurement.rounds
    }

    /// What was measured; nil where nothing was.
    var report: Report? {
        guard !rounds.isEmpty else { return nil }
        let host = Host.current
        return Report(
            Results(hosts: [host], options: plan.options, remarks: Remark.all(for: plan, on: host), rounds: rounds)
        )
    }

    /// Whether it ended early, or ticks were lost on the way to their file.
    var isFlawed: Bool { failure != nil || writing != nil }

    /// The ending that a measurement which ended early asks for.
    func ending(nothing: Bool) -> any Error {
        if let writing { return writing }
        guard failure == .stopped else { return Failed(reason: failure.map { "\($0)" } ?? "nothing was measured") }
        return Interrupted(results: nothing ? "no results" : "partial results")
    }
}
