internal import TimerResults

/// The lines of a table that are not figures.
struct Notes: Sendable {
    /// What was measured.
    let heading: String
    /// A line or two for each machine, and one for each measurement.
    let hosts: [String]
    /// What was obtained of the system, what shortened the spinning, and one line for each remark.
    let remarks: [String]
    /// One line for each disturbed round, under a heading.
    let disturbances: [String]

    init(_ report: Report) {
        let results = report.results
        heading = Self.heading(results)
        hosts =
            results.hosts.flatMap { host in
                [host.summary]
                    + (host.clockRead.map { ["Reading the clock takes \(NumberText.fixed($0, places: 0)) ns"] } ?? [])
            }
            + results.origins.map(\.summary)
        remarks = results.obtainedOptions + report.shortenedSpins + results.allRemarks.map { "Note: \($0)" }
        let disturbed = results.rounds.enumerated()
            .filter { !$0.element.disturbances.isEmpty }
            .map { "  round \($0.offset + 1): \($0.element.disturbances.joined(separator: "; "))" }
        let verb = disturbed.count == 1 ? "was disturbed, and counts" : "were disturbed, and count"
        let summary = "\(disturbed.count) of \(results.rounds.count) rounds \(verb) all the same:"
        disturbances = disturbed.isEmpty ? [] : [summary] + disturbed
    }

    private static func heading(_ results: Results) -> String {
        let options = results.options
        let period = DurationText.format(nanoseconds: options.period)
        let timers = options.timers == 1 ? "A timer every \(period)" : "\(options.timers) timers, each every \(period)"
        let place = options.delivery == HandlerPlace.inline.rawValue ? "" : ", handlers on \(options.delivery)"
        let clock = options.clock == "suspending" ? "" : ", by the \(options.clock) clock"
        let laps = options.laps == 1 ? "1 lap" : "\(options.laps) laps"
        let turns = "\(laps) of turns of \(DurationText.format(nanoseconds: options.turn))"
        let partial = results.missingLaps.map { " (PARTIAL: \($0))" } ?? ""
        return "\(timers)\(place)\(clock), \(turns)\(partial)"
    }
}
