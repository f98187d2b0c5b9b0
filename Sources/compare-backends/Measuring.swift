internal import ArgumentParser
internal import TimerMeasurement

/// Carries a plan out and prints what came of it.
struct Measuring {
    let plan: MeasurementPlan
    let format: OutputFormat

    /// Measures and prints.
    func run(_ console: inout Console) throws {
        console.catchInterrupt()
        var comparison = Comparison(plan)
        let failure = measure(&comparison, &console)
        console.clear()
        if !comparison.rounds.isEmpty { try show(Report(comparison, on: .current)) }
        for fault in comparison.faults { console.say("error: \(fault)") }
        switch failure {
        case nil where comparison.faults.isEmpty: return
        case .stopped:
            let completed = comparison.rounds.isEmpty ? "before a round was complete: no results" : "partial results"
            console.say("stopped by Ctrl-C, \(completed)")
            throw ExitCode(130)
        case let failure:
            if let failure { console.say("error: \(failure)") }
            throw ExitCode.failure
        }
    }

    private func measure(_ comparison: inout Comparison, _ console: inout Console) -> MeasurementError? {
        do throws(MeasurementError) {
            try comparison.run { progress in
                console.show(progress)
                return !console.isInterrupted
            }
            return nil
        } catch {
            return error
        }
    }

    private func show(_ report: Report) throws {
        switch format {
        case .table: print(ResultTable(report))
        case .json: print(try report.json())
        }
    }
}
