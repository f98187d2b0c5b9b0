/// What the pictures show, in words made from the same data.
package enum PageSentences {
    /// What the curves of one load show.
    package static func curves(_ rows: [RowReport]) -> String {
        let measured = rows.filter { $0.ticks > 0 }
        let backends = measured.filter { $0.case.kind == .backend }
        let subjects = (backends.isEmpty ? measured : backends).sorted { $0.lateness.p50 < $1.lateness.p50 }
        guard let first = subjects.first else { return "Nothing ticked." }
        var sentences = [
            "Half of \(PageText.possessive(first.case.row)) ticks came within \(PageText.time(first.lateness.p50)) of their "
                + "deadlines and 99 of 100 within \(PageText.time(first.lateness.p99))"
                + subjects.dropFirst().prefix(5)
                .map {
                    "; with \($0.case.row) it was \(PageText.time($0.lateness.p50)) and "
                        + PageText.time($0.lateness.p99)
                }
                .joined() + "."
        ]
        sentences += [steepest(measured), correction(measured), early(measured)].compactMap(\.self)
        return sentences.joined(separator: " ")
    }

    /// Whose curve rises the most on its last stretch that is well known.
    private static func steepest(_ rows: [RowReport]) -> String? {
        let known = rows.filter { $0.lateness.p50 > 0 && $0.ticks >= 1000 }
        let rises = known.map { (row: $0, rise: Double($0.lateness.p999) / Double($0.lateness.p50)) }
        guard let most = rises.max(by: { $0.rise < $1.rise }), most.rise >= 2 else { return nil }
        return "The curve of \(most.row.case.row) rises the most: one tick in 1000 was later than "
            + "\(PageText.time(most.row.lateness.p999)), \(PageText.number(most.rise)) times its median."
    }

    /// What the deadlines without a tick change.
    private static func correction(_ rows: [RowReport]) -> String? {
        let missing = rows.filter { $0.missed > 0 }
        guard let most = missing.max(by: { $0.missedShare < $1.missedShare }) else {
            return "No row missed a deadline, so that ticks and deadlines make the same curves."
        }
        let who =
            missing.count == 1
            ? "\(most.case.row) alone missed deadlines: \(most.missed) of \(most.deadlines)"
            : "\(missing.count == rows.count ? "All" : "\(missing.count) of") \(rows.count) rows missed deadlines, \(most.case.row) the most: \(most.missed) of "
                + "\(most.deadlines)"
        return "\(who) (\(PageText.percent(most.missedShare))). With those counted, half of its deadlines were served "
            + "within \(PageText.time(most.corrected.p50)) and 99 of 100 within \(PageText.time(most.corrected.p99))."
    }

    private static func early(_ rows: [RowReport]) -> String? {
        let early = rows.filter { $0.early > 0 }
        guard !early.isEmpty else { return nil }
        let parts = early.map { "\($0.case.row) \(PageText.count($0.early, "time"))" }
        return "Ticks came before their deadlines: \(PageText.list(parts)); the curves show them as not late."
    }

    /// What the drift of one load's rows is.
    package static func drift(_ rows: [RowReport]) -> String {
        let known = rows.compactMap { row in row.drift.map { (name: row.case.row, drift: $0) } }
        guard let widest = known.max(by: { $0.drift.noise < $1.drift.noise }) else {
            return "The turns had too few ticks to tell a drift."
        }
        let drifting = known.filter { $0.drift.ppm.magnitude > $0.drift.noise }
            .sorted { $0.drift.ppm.magnitude > $1.drift.ppm.magnitude }
        var sentences: [String] = []
        if drifting.isEmpty {
            sentences.append(
                "No row drifts by more than its noise: a drift that there may be is too small for this run to see. "
                    + "Least surely known is \(PageText.possessive(widest.name)), to "
                    + "± \(PageText.number(widest.drift.noise)) ppm."
            )
        } else {
            let parts = drifting.prefix(4)
                .map {
                    "\($0.name) by \(signed($0.drift.ppm)) ± \(PageText.number($0.drift.noise)) ppm, "
                        + "\(PageText.time($0.drift.ppm.magnitude * 10_000)) in ten seconds"
                }
            let what = drifting.count == 1 ? "One row drifts" : "\(drifting.count) rows drift"
            sentences.append("\(what) by more than the noise: \(parts.joined(separator: "; ")).")
            let others = known.count - drifting.count
            if others > 0 {
                sentences.append("In \(PageText.count(others, "other row")) no drift was seen.")
            }
        }
        let unknown = rows.filter { $0.drift == nil }.map(\.case.row)
        if !unknown.isEmpty { sentences.append("Too few ticks in a turn for a slope: \(PageText.list(unknown)).") }
        return sentences.joined(separator: " ")
    }

    private static func signed(_ ppm: Double) -> String { (ppm > 0 ? "+" : "") + PageText.number(ppm) }
}

extension RowReport {
    /// How many deadlines there were.
    var deadlines: UInt64 { UInt64(ticks) + missed }

    /// The share of the deadlines that got no tick of their own; 0 where there were none.
    var missedShare: Double { deadlines == 0 ? 0 : Double(missed) / Double(deadlines) }
}
