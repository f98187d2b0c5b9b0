/// The backend to take: the cheapest of those that are good enough under every measured load.
package struct Recommendation: Hashable, Sendable {
    /// What a user asks for; nil means no limit.
    package struct Wish: Hashable, Sendable {
        /// The most nanoseconds within which 99 of 100 deadlines must be served.
        package var lateness: UInt64?
        /// The most processor time, in percent of one processor.
        package var cpu: Double?

        package init(lateness: UInt64? = nil, cpu: Double? = nil) {
            self.lateness = lateness
            self.cpu = cpu
        }
    }

    /// A backend at its worst under any of the loads.
    package struct Candidate: Hashable, Sendable {
        package let row: String
        /// Nanoseconds within which 99 of 100 deadlines are served, missed deadlines included.
        package let lateness: Int64
        /// Percent of a processor.
        package let cpu: Double
        /// Why the backend is not good enough, in a few words; nil if it is.
        package let problem: String?
    }

    package let wish: Wish
    /// Why the choice is unsafe; nil if it is safe.
    package let problem: String?
    /// The choice first, then the other backends that are good enough, then the rest; cheap before expensive.
    package let candidates: [Candidate]
    /// The backend to take; nil if no backend is good enough.
    package var choice: Candidate? { candidates.first.flatMap { $0.problem == nil ? $0 : nil } }

    /// Chooses from a report that has at least one backend.
    package init(_ wish: Wish, from report: Report) {
        self.wish = wish
        var seen: Set<String> = []
        let names = report.rows.filter { $0.key.kind == .backend }.map(\.key.row).filter { seen.insert($0).inserted }
        let contestants = names.map { name in report.rows.filter { $0.key.row == name } }
        // A backend that is too expensive or broken sets no standard for the others.
        let eligible = contestants.filter { Self.disqualification(of: $0, wish) == nil }
        let best = eligible.min { Self.lateness(of: $0) < Self.lateness(of: $1) } ?? []
        problem =
            wish.lateness == nil && report.results.rounds.count < Comparing.fewestRounds
            ? "Fewer than \(Comparing.fewestRounds) rounds cannot show that one backend is better, and these are "
                + "\(report.results.rounds.count): say with --lateness what is good enough, or measure longer." : nil
        candidates =
            contestants.map { rows in
                Candidate(
                    row: rows[0].key.row,
                    lateness: Self.lateness(of: rows),
                    cpu: rows.compactMap(\.cpuPercent).max() ?? 0,
                    problem: Self.problem(of: rows, wish, best: best, in: report.results)
                )
            }
            .sorted { first, second in
                if (first.problem == nil) != (second.problem == nil) { return first.problem == nil }
                return (first.cpu, first.lateness) < (second.cpu, second.lateness)
            }
    }

    private static func lateness(of rows: [RowReport]) -> Int64 { rows.map { $0.corrected.percentile(99) }.max() ?? 0 }

    /// What speaks against a backend, under the first load that shows it.
    private static func problem(of rows: [RowReport], _ wish: Wish, best: [RowReport], in results: Results) -> String? {
        if let problem = disqualification(of: rows, wish) { return problem }
        for row in rows {
            if let wished = wish.lateness {
                guard row.corrected.percentile(99) > Int64(clamping: wished) else { continue }
                return "\(promptness(of: row)), which is too late"
            }
            guard let rival = best.first(where: { $0.key.load == row.key.load }) else { continue }
            let comparing = Comparing(row.key, with: rival.key, in: results, by: .p99)
            if comparing.verdict == .slower { return "\(promptness(of: row)), later than \(rival.key.row)" }
        }
        return nil
    }

    /// What rules a backend out without a comparison, under the first load that shows it.
    private static func disqualification(of rows: [RowReport], _ wish: Wish) -> String? {
        for row in rows {
            if let problem = row.problem { return problem }
            if let wished = wish.cpu, let cpu = row.cpuPercent, cpu > wished {
                return "\(NumberText.fixed(cpu, places: 2)) % of a processor\(place(of: row)), which is too much"
            }
        }
        return nil
    }

    private static func promptness(of row: RowReport) -> String {
        let lateness = NumberText.microseconds(Double(row.corrected.percentile(99)))
        return "99 of 100 deadlines within \(lateness) µs\(place(of: row))"
    }

    private static func place(of row: RowReport) -> String {
        row.key.load == RowKey.idle ? "" : " under \(row.key.load)"
    }
}

/// For people.
extension Recommendation: CustomStringConvertible {
    package var description: String {
        var lines: [String] = []
        if let choice {
            lines.append("Take \(choice.row): \(Self.figures(of: choice)).")
        } else {
            let nearest = candidates.min { $0.lateness < $1.lateness }
            lines.append("No backend meets that here.")
            if let nearest { lines.append("The least late is \(nearest.row): \(Self.figures(of: nearest)).") }
        }
        lines += candidates.dropFirst(choice == nil ? 0 : 1)
            .map { candidate in
                let problem = candidate.problem ?? "good enough too, but more expensive: \(Self.figures(of: candidate))"
                return "  \(candidate.row): \(problem)"
            }
        return (lines + [problem].compactMap(\.self)).joined(separator: "\n")
    }

    private static func figures(of candidate: Candidate) -> String {
        "99 of 100 deadlines within \(NumberText.microseconds(Double(candidate.lateness))) µs, for "
            + "\(NumberText.fixed(candidate.cpu, places: 2)) % of a processor"
    }
}
