package import TimerResults

/// The main result of each picture, in one line.
package enum PageSentences {
    /// The best and the worst backend under one load.
    package static func overview(_ rows: [RowReport]) -> String {
        let backends = rows.filter { $0.key.kind == .backend && $0.ticks > 0 }
        guard let best = backends.min(by: { $0.p99 < $1.p99 }), let worst = backends.max(by: { $0.p99 < $1.p99 })
        else { return "" }
        let load = best.key.load == RowKey.idle ? "Idle" : "Under \(best.key.load)"
        let range = best.key == worst.key ? "" : ", within \(PageText.time(worst.p99)) with \(worst.key.row)"
        return "\(load): 99 of 100 ticks within \(PageText.time(best.p99)) with \(best.key.row)\(range)."
    }

    package static func curves(_ rows: [RowReport]) -> String {
        let missed = rows.filter { $0.missed > 0 }.map(\.key.row)
        return missed.isEmpty
            ? "No row missed a deadline: the curves of ticks and deadlines are the same."
            : "Rows that missed deadlines: \(missed.joined(separator: ", "))."
    }

    package static func time(_ rounds: [Round]) -> String {
        let disturbed = rounds.count { !$0.disturbances.isEmpty }
        return "Disturbed rounds: \(disturbed) of \(rounds.count)."
    }

    package static func drift(_ rows: [RowReport]) -> String {
        let drifting = rows.filter { row in row.drift.map { $0.ppm.magnitude > $0.noise } ?? false }.map(\.key.row)
        let names = drifting.isEmpty ? "no row" : drifting.joined(separator: ", ")
        return "Rows that drift by more than their noise: \(names)."
    }

    package static func price(_ rows: [RowReport]) -> String {
        let prices = rows.compactMap { row in row.cpuPercent.map { (row: row.key.row, cpu: $0) } }
        guard let low = prices.min(by: { $0.cpu < $1.cpu }), let high = prices.max(by: { $0.cpu < $1.cpu }) else {
            return "The price of the rows is unknown."
        }
        return "Processor time: from \(PageText.number(low.cpu)) % (\(low.row)) to \(PageText.number(high.cpu)) % "
            + "(\(high.row))."
    }
}

extension RowReport {
    fileprivate var p99: Int64 { total.lateness.percentile(99) }
}
