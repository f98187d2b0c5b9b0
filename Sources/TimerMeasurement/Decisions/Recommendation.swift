/// Which backend to take: of those that are good enough, under every load that was measured, the one that costs least.
package struct Recommendation: Hashable, Sendable {
    /// What is wanted; nil where nothing is.
    package struct Wish: Hashable, Sendable {
        /// 99 of 100 deadlines are to be served within this, in nanoseconds.
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
        /// Nanoseconds within which 99 of 100 deadlines are served, those that got no tick of their own included.
        package let lateness: Int64
        /// Percent of a processor.
        package let cpu: Double
        /// Why it is not good enough, in a few words; nil where it is.
        package let objection: String?
    }

    /// What was wanted.
    package let wish: Wish
    /// What a reader should know before they rely on it; nil where there is nothing.
    package let caution: String?
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
        // What is too dear or unsound sets no standard for the others.
        let eligible = contestants.filter { Self.flaw(of: $0, wish, in: report.results) == nil }
        let best = eligible.min { Self.lateness(of: $0) < Self.lateness(of: $1) } ?? []
        caution = Self.caution(wish, report.results)
        candidates =
            contestants.map { rows in
                Candidate(
                    row: rows[0].case.row,
                    lateness: Self.lateness(of: rows),
                    cpu: rows.compactMap(\.cpuPercent).max() ?? 0,
                    objection: Self.objection(to: rows, wish, best: best, in: report.results)
                )
            }
            .sorted { first, second in
                if (first.objection == nil) != (second.objection == nil) { return first.objection == nil }
                return (first.cpu, first.lateness) < (second.cpu, second.lateness)
            }
    }

    private static func lateness(of rows: [RowReport]) -> Int64 { rows.map(\.corrected.p99).max() ?? 0 }

    /// What speaks against a backend under the first of the loads where something does.
    private static func objection(
        to rows: [RowReport],
        _ wish: Wish,
        best: [RowReport],
        in results: Results
    ) -> String? {
        if let flaw = flaw(of: rows, wish, in: results) { return flaw }
        for row in rows {
            if let wished = wish.lateness {
                guard row.corrected.p99 > 0, UInt64(row.corrected.p99) > wished else { continue }
                return "\(promptness(of: row)), which is too late"
            }
            guard let rival = best.first(where: { $0.case.load == row.case.load }) else { continue }
            let comparing = Comparing(row.case, with: rival.case, in: results, by: .p99)
            if comparing.verdict == .slower { return "\(promptness(of: row)), later than \(rival.case.row)" }
        }
        return nil
    }

    /// What rules a backend out by itself, under the first of the loads where something does.
    private static func flaw(of rows: [RowReport], _ wish: Wish, in results: Results) -> String? {
        for row in rows {
            if let fault = results.rounds.lazy.compactMap({ $0[row.case]?.fault }).first { return fault }
            if let wished = wish.cpu, let cpu = row.cpuPercent, cpu > wished {
                return "\(NumberText.fixed(cpu, places: 2)) % of a processor\(place(of: row)), which is too much"
            }
        }
        return nil
    }

    private static func promptness(of row: RowReport) -> String {
        "99 of 100 deadlines within \(NumberText.microseconds(Double(row.corrected.p99))) µs\(place(of: row))"
    }

    private static func place(of row: RowReport) -> String {
        row.case.load == Case.idle ? "" : " under \(row.case.load)"
    }

    private static func caution(_ wish: Wish, _ results: Results) -> String? {
        guard wish.lateness == nil, results.rounds.count < Comparing.fewestRounds else { return nil }
        return "Fewer than \(Comparing.fewestRounds) rounds tell no two backends apart, and these are "
            + "\(results.rounds.count): say with --lateness what is good enough, or measure longer."
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
        return (lines + [caution].compactMap(\.self)).joined(separator: "\n")
    }

    private static func figures(of candidate: Candidate) -> String {
        "99 of 100 deadlines within \(NumberText.microseconds(Double(candidate.lateness))) µs, for "
            + "\(NumberText.fixed(candidate.cpu, places: 2)) % of a processor"
    }
}
