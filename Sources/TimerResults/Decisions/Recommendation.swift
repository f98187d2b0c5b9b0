/// The backend to take: of those that are good enough under every measured load, the cheapest.
///
/// Without a wish, a backend is good enough if no other is shown to be earlier, by p50 or p95 and not later by the
/// other. If several remain, the measurement cannot tell which is earliest, and says so.
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
        /// Nanoseconds within which 99 of 100 deadlines are served, missed deadlines included; nil for fewer than a
        /// hundred deadlines.
        package let lateness: Int64?
        /// Percent of a processor.
        package let cpu: Double
        /// Why the backend is not good enough, in a few words; nil if it is.
        package let problem: String?
    }

    package let wish: Wish
    /// The choice first, then the other backends that are good enough, then the rest; cheap before expensive.
    package let candidates: [Candidate]
    /// Whether some pairs have too few laps for a verdict.
    package let isTooShort: Bool
    /// Whether one of the choices is earlier than another by p50, and later by p95, or the other way round.
    package let isDivided: Bool

    /// The backends that are good enough, cheap before expensive.
    package var choices: [Candidate] { candidates.filter { $0.problem == nil } }

    /// Chooses from a report that has at least one backend.
    package init(_ wish: Wish, from report: Report) {
        self.wish = wish
        var seen: Set<String> = []
        let names = report.rows.filter { $0.key.kind == .backend }.map(\.key.row).filter { seen.insert($0).inserted }
        let contestants = names.map { name in report.rows.filter { $0.key.row == name } }
        // A backend that is too expensive or broken sets no standard for the others.
        let eligible = contestants.filter { Self.disqualification(of: $0, wish) == nil }.flatMap(\.self)
        isTooShort =
            wish.lateness == nil
            && report.pairs.contains {
                $0.second.kind == .backend && $0.percentile == .p50 && $0.ratio.verdict == .unknown
            }
        let candidates =
            contestants.map { rows in
                Candidate(
                    row: rows[0].key.row,
                    lateness: Self.lateness(of: rows),
                    cpu: rows.compactMap(\.cpuPercent).max() ?? 0,
                    problem: Self.problem(of: rows, wish, rivals: eligible, in: report.results)
                )
            }
            .sorted { first, second in
                if (first.problem == nil) != (second.problem == nil) { return first.problem == nil }
                return (first.cpu, first.lateness ?? .max) < (second.cpu, second.lateness ?? .max)
            }
        self.candidates = candidates
        let chosen = Set(candidates.filter { $0.problem == nil }.map(\.row))
        isDivided = report.pairs.contains { pair in
            chosen.isSuperset(of: [pair.first.row, pair.second.row])
                && (pair.ratio.verdict == .later || pair.ratio.verdict == .earlier)
        }
    }

    /// What speaks against a backend, under the first load that shows it.
    private static func problem(
        of rows: [RowReport],
        _ wish: Wish,
        rivals: [RowReport],
        in results: Results
    ) -> String? {
        if let problem = disqualification(of: rows, wish) { return problem }
        for row in rows {
            if let wished = wish.lateness {
                guard let lateness = lateness(of: [row]) else {
                    return "fewer than \(Round.fewestDeadlines) deadlines\(place(of: row)), which is too short to tell"
                }
                guard lateness > Int64(clamping: wished) else { continue }
                let words = NumberText.microseconds(Double(lateness))
                return "99 of 100 deadlines within \(words) µs\(place(of: row)), which is too late"
            }
            let lost = rivals.filter { $0.key.load == row.key.load && $0.key != row.key }
                .flatMap { defeats(of: row.key, by: $0.key, in: results) }
            // The clearest defeat says most.
            if let worst = lost.max(by: { $0.ratio.estimate < $1.ratio.estimate }) {
                return "\(worst.percentile.rawValue) \(worst.ratio.words) than \(worst.second.row)\(place(of: row))"
            }
        }
        return nil
    }

    /// The percentiles by which one row is later than another; none if it is earlier by another percentile.
    private static func defeats(of row: RowKey, by rival: RowKey, in results: Results) -> [PairReport] {
        let pairs = PairReport.Percentile.allCases.compactMap { PairReport(row, rival, $0, in: results) }
        guard !pairs.contains(where: { $0.ratio.verdict == .earlier }) else { return [] }
        return pairs.filter { $0.ratio.verdict == .later }
    }

    /// The lateness of 99 of 100 deadlines under the worst load; nil if a row has too few deadlines.
    private static func lateness(of rows: [RowReport]) -> Int64? {
        guard rows.allSatisfy({ $0.corrected.moments.count >= Round.fewestDeadlines }) else { return nil }
        return rows.map { $0.corrected.percentile(99) }.max()
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

    private static func place(of row: RowReport) -> String {
        row.key.load == RowKey.idle ? "" : " under \(row.key.load)"
    }
}

/// For people.
extension Recommendation: CustomStringConvertible {
    /// The choice in one line.
    package var headline: String {
        guard let first = choices.first else {
            let hasWish = wish.lateness != nil || wish.cpu != nil
            return hasWish ? "No backend meets that here." : "No backend is the earliest under every load."
        }
        guard choices.count > 1 else { return "Take \(first.row)\(price(of: first))." }
        // With a wish the cheapest is the choice. Without one, nothing shows that one of these is the earliest.
        if wish.lateness != nil { return "Take \(first.row), the cheapest that is good enough." }
        let names = choices.dropLast().map(\.row).joined(separator: ", ") + " or \(choices[choices.count - 1].row)"
        let reason =
            if isTooShort { "measure longer to tell them apart" } else if isDivided {
                "one is earlier in the middle, another in the tail"
            } else { "this run cannot tell them apart" }
        return "Take either \(names): \(reason); \(first.row) is the cheapest."
    }

    /// The price of a choice that costs much more than the cheapest backend, which is good enough for most work.
    private func price(of choice: Candidate) -> String {
        guard let cheapest = candidates.min(by: { $0.cpu < $1.cpu }), choice.cpu > 1.5 * cheapest.cpu else { return "" }
        let (high, low) = (NumberText.fixed(choice.cpu, places: 1), NumberText.fixed(cheapest.cpu, places: 1))
        return ", for \(high) % of a processor; \(cheapest.row) takes \(low) %"
    }

    package var description: String {
        var lines = [headline]
        if choices.isEmpty, let nearest = candidates.min(by: { $0.lateness ?? .max < $1.lateness ?? .max }) {
            lines.append("The least late is \(nearest.row): \(Self.figures(of: nearest)).")
        }
        lines += candidates.map { "  \($0.row): \($0.problem ?? Self.figures(of: $0))" }
        return lines.joined(separator: "\n")
    }

    private static func figures(of candidate: Candidate) -> String {
        let lateness = candidate.lateness.map {
            "99 of 100 deadlines within \(NumberText.microseconds(Double($0))) µs, for "
        }
        return (lateness ?? "") + "\(NumberText.fixed(candidate.cpu, places: 2)) % of a processor"
    }
}
