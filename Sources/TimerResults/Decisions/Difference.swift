/// Compares two results of one question, row by row: did it get worse?
package struct Difference: Hashable, Sendable {
    /// One figure of a row, before and after.
    package struct Line: Hashable, Sendable {
        package let key: RowKey
        package let figure: Figure
        package let old: Double
        package let new: Double
        /// The new value as a multiple of the old one; nil if the old value is zero.
        package let ratio: Double?
        /// The same with an interval, for a multiple of the floor; nil for any other figure.
        package let known: Ratio?
    }

    /// The figures of every row that both results have, in the order of the new table.
    package let lines: [Line]
    /// The rows that only one of the results has, one line each.
    package let unmatched: [String]

    package init(old: Report, new: Report) {
        lines = new.rows.flatMap { row in
            guard let former = old.rows.first(where: { $0.key == row.key }) else { return [Line]() }
            return Figure.all.compactMap { Line($0, of: former, in: old.results, of: row, in: new.results) }
        }
        let (former, latter) = (old.rows.map(\.key), new.rows.map(\.key))
        unmatched =
            former.filter { !latter.contains($0) }.map { "\($0) is in the old results only" }
            + latter.filter { !former.contains($0) }.map { "\($0) is in the new results only" }
    }
}

extension Difference.Line {
    fileprivate init?(_ figure: Figure, of former: RowReport, in old: Results, of row: RowReport, in new: Results) {
        guard figure.comparison != .none, let before = figure(former), let after = figure(row) else { return nil }
        key = row.key
        self.figure = figure
        self.old = before
        self.new = after
        ratio = (after / before).rounded(places: 3)
        // The floor is always 1 × itself.
        if case .byFloor(let percentile) = figure.comparison, row.key != row.key.floor {
            known = Ratio(of: row.key, percentile, since: old, in: new)
        } else {
            known = nil
        }
    }
}

/// Why the figures of two results cannot be compared, in one line; nil if they can.
extension Results {
    package func difference(from other: Results) -> String? {
        options.difference(from: other.options) ?? hostDifference(from: other)
    }

    /// Why two results are not of one machine that gave both the same, in one line; nil if they are.
    func hostDifference(from other: Results) -> String? {
        for host in hosts {
            for otherHost in other.hosts {
                if let difference = host.difference(from: otherHost) { return difference }
            }
        }
        return grants.difference(from: other.grants)
    }
}

extension Options {
    package func difference(from other: Options) -> String? {
        if period != other.period {
            return "a period of \(DurationText.format(nanoseconds: period)) and one of "
                + DurationText.format(nanoseconds: other.period)
        }
        if timers != other.timers { return "\(timers) timers and \(other.timers)" }
        if delivery != other.delivery { return "handlers delivered \(delivery) and \(other.delivery)" }
        if clock != other.clock { return "the \(clock) clock and the \(other.clock) clock" }
        return systemDifference(from: other)
    }

    private func systemDifference(from other: Options) -> String? {
        let (mine, others) = (system ?? [], other.system ?? [])
        if mine == others { return nil }
        let words = [mine, others].map { $0.isEmpty ? "no system options" : $0.joined(separator: " ") }
        return "\(words[0]) and \(words[1])"
    }
}

extension Host {
    /// Two kernels on one machine can be compared: a reader may want to see what a new kernel changed.
    package func difference(from other: Host) -> String? {
        if machine != other.machine { return "\(machine) and \(other.machine)" }
        if cpu != other.cpu { return "\(cpu ?? "an unnamed processor") and \(other.cpu ?? "an unnamed processor")" }
        if processors != other.processors { return "\(processors) processors and \(other.processors)" }
        if let (mine, others) = known(usableProcessors, other.usableProcessors) {
            return "\(mine) usable processors and \(others)"
        }
        if cpuQuota != other.cpuQuota {
            let limits = [cpuQuota, other.cpuQuota]
                .map { $0.map { "\(NumberText.fixed($0, places: 2)) processors" } ?? "none" }
            return "a limit of the control group of \(limits[0]) and of \(limits[1])"
        }
        if let (mine, others) = known(governor, other.governor) { return "the governors \(mine) and \(others)" }
        if let (mine, others) = known(clockSource, other.clockSource) {
            return "the clock sources \(mine) and \(others)"
        }
        if build != other.build { return "a \(build.rawValue) build and a \(other.build.rawValue) build" }
        return nil
    }

    /// Both facts, if both are known and differ.
    private func known<Fact: Equatable>(_ mine: Fact?, _ others: Fact?) -> (Fact, Fact)? {
        guard let mine, let others, mine != others else { return nil }
        return (mine, others)
    }
}
