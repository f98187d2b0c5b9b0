extension PageSentences {
    /// What all loads together show.
    package static func overview(_ rows: [RowReport]) -> String {
        var loads: [String] = []
        for row in rows where !loads.contains(row.case.load) { loads.append(row.case.load) }
        return loads.map { load in overview(rows.filter { $0.case.load == load }, load) }.joined(separator: " ")
    }

    private static func overview(_ rows: [RowReport], _ load: String) -> String {
        let backends = rows.filter { $0.case.kind == .backend && $0.ticks > 0 }
        let subjects = backends.isEmpty ? rows.filter { $0.ticks > 0 } : backends
        let what = load == Case.idle ? "Idle" : "Under \(load)"
        guard let least = subjects.min(by: { $0.lateness.p99 < $1.lateness.p99 }),
            let most = subjects.max(by: { $0.lateness.p99 < $1.lateness.p99 })
        else { return "\(what), nothing ticked." }
        let thing = backends.isEmpty ? "rows" : "backends"
        var sentence =
            least.lateness.p99 == most.lateness.p99
            ? "\(what), 99 of 100 ticks of \(least.case.row) came within \(PageText.time(least.lateness.p99))"
            : "\(what), 99 of 100 ticks came within \(PageText.time(least.lateness.p99)) with \(least.case.row) and within "
                + "\(PageText.time(most.lateness.p99)) with \(most.case.row), the least and the most of the \(thing)"
        if let worst = rows.max(by: { $0.missedShare < $1.missedShare }), worst.missed > 0 {
            sentence += "; \(worst.case.row) missed \(PageText.percent(worst.missedShare)) of its deadlines, the most"
        } else {
            sentence += "; no deadline was missed"
        }
        return sentence + "."
    }

    /// How the lateness of one load's cases went.
    static func time(_ entries: [PageData.Entry], _ rounds: [PageData.Round]) -> String {
        [disturbed(rounds), latest(entries, rounds), wandering(entries)].compactMap(\.self).joined(separator: " ")
    }

    private static func disturbed(_ rounds: [PageData.Round]) -> String {
        let disturbed = rounds.filter { !$0.disturbances.isEmpty }.count
        switch (disturbed, rounds.count) {
        case (0, 1): return "The only round is not marked as disturbed."
        case (0, let all): return "None of the \(all) rounds is marked as disturbed."
        case (1, 1): return "The only round is marked as disturbed."
        case (let some, let all): return "\(some) of \(all) rounds \(some == 1 ? "is" : "are") marked as disturbed."
        }
    }

    private static func latest(_ entries: [PageData.Entry], _ rounds: [PageData.Round]) -> String? {
        let peaks = entries.compactMap { entry in
            entry.greatest.indices.max { entry.greatest[$0] < entry.greatest[$1] }
                .map { (row: entry.row, time: entry.times[$0], lateness: entry.greatest[$0]) }
        }
        guard let peak = peaks.max(by: { $0.lateness < $1.lateness }) else { return nil }
        let round = rounds.lastIndex { $0.start <= peak.time } ?? 0
        let mark = rounds.indices.contains(round) && !rounds[round].disturbances.isEmpty ? ", a disturbed one" : ""
        return
            "The latest tick of all was one of \(PageText.possessive(peak.row)), \(PageText.time(peak.lateness)) after "
            + "its deadline, in round \(round + 1)\(mark)."
    }

    /// Whose median keeps its level, and whose does not.
    private static func wandering(_ entries: [PageData.Entry]) -> String? {
        let ranges = entries.compactMap { entry -> (row: String, low: Int64, high: Int64)? in
            let ordered = entry.medians.sorted()
            guard ordered.count >= 10 else { return nil }
            return (entry.row, ordered[ordered.count / 10], ordered[ordered.count * 9 / 10])
        }
        guard let steady = ranges.min(by: { $0.high - $0.low < $1.high - $1.low }),
            let wandering = ranges.max(by: { $0.high - $0.low < $1.high - $1.low }), ranges.count > 1
        else { return nil }
        return "The middle 80 of 100 medians lay closest together with \(steady.row), "
            + "\(PageText.time(steady.low)) to \(PageText.time(steady.high)), and furthest apart with \(wandering.row), "
            + "\(PageText.time(wandering.low)) to \(PageText.time(wandering.high))."
    }

    /// What precision costs under one load.
    package static func price(_ rows: [RowReport]) -> String {
        let priced = rows.compactMap { row -> (row: RowReport, cpu: Double)? in
            guard let cpu = row.cpuPercent, row.ticks > 0 else { return nil }
            return (row, cpu)
        }
        guard let cheapest = priced.min(by: { $0.cpu < $1.cpu }), let dearest = priced.max(by: { $0.cpu < $1.cpu })
        else { return "What the rows cost is not known." }
        func said(_ one: (row: RowReport, cpu: Double)) -> String {
            "\(one.row.case.row) took \(PageText.number(one.cpu)) % of a processor for a median of "
                + PageText.time(one.row.lateness.p50)
        }
        guard priced.count > 1 else { return said(cheapest) + "." }
        // What no other row beats in both.
        let front = priced.filter { one in
            !priced.contains { other in
                other.cpu <= one.cpu && other.row.lateness.p50 <= one.row.lateness.p50
                    && (other.cpu < one.cpu || other.row.lateness.p50 < one.row.lateness.p50)
            }
        }
        return "Cheapest, \(said(cheapest)); dearest, \(said(dearest)). "
            + "No row beats \(PageText.list(front.map(\.row.case.row), "or")) in both price and median."
    }
}
