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

/// The comparisons of pairs, one line for each pair.
struct PairLines: Sendable {
    /// The comparisons of two rows.
    private struct Pair {
        let first: RowKey
        let second: RowKey
        var reports: [PairReport]
    }

    private let pairs: [Pair]

    init(_ report: Report) {
        pairs = report.pairs.reduce(into: []) { pairs, report in
            if pairs.last?.first == report.first, pairs.last?.second == report.second {
                pairs[pairs.count - 1].reports.append(report)
            } else {
                pairs.append(Pair(first: report.first, second: report.second, reports: [report]))
            }
        }
    }

    /// The meaning of the numbers; nil without pairs.
    var heading: String? {
        guard !pairs.isEmpty else { return nil }
        let share = NumberText.fixed(100 * SignedRank.confidence, places: 0)
        return "Pairs: the first's lateness (corrected) against the second's, with its \(share) % interval."
    }

    /// Aligned lines under the heading; empty without pairs.
    func lines(inColour: Bool) -> [String] {
        guard let heading else { return [] }
        let columns = Array(repeating: TextColumns.Column(), count: 1 + PairReport.Percentile.allCases.count)
        let cells = pairs.map { pair in
            [Inked("\(pair.first) : \(pair.second)")] + PairReport.Percentile.allCases.map { cell($0, of: pair) }
        }
        return [heading] + TextColumns(columns, cells, inColour: inColour).lines
    }

    /// The names and comparisons of each pair.
    var cells: [[String]] {
        pairs.map { pair in
            ["\(pair.first)", "\(pair.second)"] + PairReport.Percentile.allCases.map { cell($0, of: pair).text }
        }
    }

    private func cell(_ percentile: PairReport.Percentile, of pair: Pair) -> Inked {
        guard let ratio = pair.reports.first(where: { $0.percentile == percentile })?.ratio else { return Inked("") }
        let isDifferent = ratio.verdict == .later || ratio.verdict == .earlier
        return Inked("\(percentile.rawValue) \(ratio.words)", isDifferent ? .strong : .faint)
    }
}

/// For people.
extension Difference: CustomStringConvertible {
    package var description: String {
        let titles = ["row", "figure", "old", "new", "new/old", "verdict"]
        let columns = titles.enumerated().map { TextColumns.Column($1, isFlushLeft: [0, 1, 5].contains($0)) }
        let cells = lines.map { line in
            [
                "\(line.key)", line.figure.name, line.figure.text(line.old), line.figure.text(line.new),
                line.ratio.map { NumberText.fixed($0, places: 2) } ?? "–", line.known?.words ?? "",
            ]
        }
        let table = TextColumns(columns, cells)
        let explanation = """
            new/old   the new figure as a multiple of the old one. The host may have changed between the runs, so only
                      multiples of the floor in the same run have a verdict, with room for what two runs of one
                      program differ by. To compare two builds closely: compare-backends against
            """
        return
            ([table.titles] + table.lines + (lines.isEmpty ? [] : ["", explanation])
            + unmatched)
            .joined(separator: "\n")
    }
}
