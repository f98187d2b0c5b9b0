internal import ArgumentParser
internal import TimerMeasurement

/// Carries a plan out and prints what came of it.
struct Measuring {
    let plan: MeasurementPlan
    let format: OutputFormat

    /// Measures and prints.
    func run(_ console: inout Console) throws {
        var comparison = Measurement(plan)
        let failure = measure(&comparison, &console)
        let results = Results(hosts: [.current], options: plan.options, rounds: comparison.rounds)
        let report = Report(results)
        if !comparison.rounds.isEmpty { try show(report, &console) }
        console.clear()
        for fault in report.faults { console.say("error: \(fault)") }
        switch failure {
        case nil where report.faults.isEmpty: return
        case .stopped:
            let completed = comparison.rounds.isEmpty ? "before a round was complete: no results" : "partial results"
            console.say("stopped by Ctrl-C, \(completed)")
            throw ExitCode(130)
        case let failure:
            if let failure { console.say("error: \(failure)") }
            throw ExitCode.failure
        }
    }

    private func measure(_ comparison: inout Measurement, _ console: inout Console) -> MeasurementError? {
        do throws(MeasurementError) {
            let screen = console
            try comparison.run(
                Measurement.Watcher { _ in
                    !screen.isInterrupted
                }
            )
            return nil
        } catch {
            return error
        }
    }

    private func show(_ report: Report, _ console: inout Console) throws {
        switch format {
        case .table: try console.hand(over: ResultTable(report).description)
        case .json: try console.hand(over: ResultsFile.encode(report))
        }
    }
}
