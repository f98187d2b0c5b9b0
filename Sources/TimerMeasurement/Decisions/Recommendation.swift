/// Which backend to take: of those that are good enough, under every load that was measured, the one that costs least.
package struct Recommendation: Hashable, Sendable {
    /// What is wanted; nil where nothing is.
    package struct Wish: Hashable, Sendable {
        /// 99 of 100 ticks are to be late by no more than this, in nanoseconds.
        package var lateness: UInt64?
        /// What it may cost at most, in percent of a processor.
        package var cpu: Double?

        package init(lateness: UInt64? = nil, cpu: Double? = nil) {
            self.lateness = lateness
            self.cpu = cpu
        }
    }

    /// A backend at its worst under any of the loads.
    package struct Candidate: Hashable, Sendable {
        package let row: String
        /// Nanoseconds that 99 of 100 ticks are late at most.
        package let lateness: Int64
        /// Percent of a processor.
        package let cpu: Double
        /// Why it is not good enough, in a few words; nil where it is.
        package let objection: String?
    }

    /// What was wanted.
    package let wish: Wish
    /// All backends, the one to take first, then the others that are good enough, then the rest; each from cheap to dear.
    package let candidates: [Candidate]
    /// The one to take; nil where none is good enough.
    package var choice: Candidate? { candidates.first.flatMap { $0.objection == nil ? $0 : nil } }

    /// Chooses from a report, which has at least one backend.
    package init(_ wish: Wish, from report: Report) {
        self.wish = wish
        var seen: Set<String> = []
        let names = report.rows.filter { $0.case.kind == .backend }.map(\.case.row).filter { seen.insert($0).inserted }
        let contestants = names.map { name in report.rows.filter { $0.case.row == name } }
        let best = contestants.min { ($0.map(\.lateness.p99).max() ?? 0) < ($1.map(\.lateness.p99).max() ?? 0) } ?? []
        candidates =
            contestants.map { rows in
                Candidate(
                    row: rows[0].case.row,
                    lateness: rows.map(\.lateness.p99).max() ?? 0,
                    cpu: rows.compactMap(\.cpuPercent).max() ?? 0,
                    objection: Self.objection(to: rows, wish, best: best, in: report.results)
                )
            }
            .sorted { first, second in
                if (first.objection == nil) != (second.objection == nil) { return first.objection == nil }
                return (first.cpu, first.lateness) < (second.cpu, second.lateness)
            }
    }

    /// What speaks against a backend under the first of the loads where something does.
    private static func objection(
        to rows: [RowReport],
        _ wish: Wish,
        best: [RowReport],
        in results: Results
    ) -> String? {
        for row in rows {
            let load = row.case.load == Case.idle ? "" : " under \(row.case.load)"
            let late = "99 of 100 ticks within \(NumberText.microseconds(Double(row.lateness.p99))) µs\(load)"
            if let wished = wish.lateness, row.lateness.p99 > 0, UInt64(row.lateness.p99) > wished {
                return "\(late), which is too late"
            }
            if let wished = wish.cpu, let cpu = row.cpuPercent, cpu > wished {
                return "\(NumberText.fixed(cpu, places: 2)) % of a processor\(load), which is too much"
            }
            guard wish.lateness == nil, let rival = best.first(where: { $0.case.load == row.case.load }) else {
                continue
            }
            if Comparing(row.case, with: rival.case, in: results, by: .p99).verdict == .slower {
                return "\(late), later than \(rival.case.row)"
            }
        }
        return nil
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
                let verdict = candidate.objection ?? "good enough as well, and dearer: \(Self.figures(of: candidate))"
                return "  \(candidate.row): \(verdict)"
            }
        return lines.joined(separator: "\n")
    }

    private static func figures(of candidate: Candidate) -> String {
        "99 of 100 ticks within \(NumberText.microseconds(Double(candidate.lateness))) µs, for "
            + "\(NumberText.fixed(candidate.cpu, places: 2)) % of a processor"
    }
}
