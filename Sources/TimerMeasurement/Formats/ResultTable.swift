/// The results as an aligned table, with what was measured above it and what the columns mean below.
package struct ResultTable: CustomStringConvertible {
    /// One column: two lines of header, and what stands in it.
    private struct Column: Sendable {
        let group: String
        let title: String
        let cell: @Sendable (RowReport) -> String
    }

    private let report: Report

    package init(_ report: Report) { self.report = report }

    /// All of it.
    package var description: String {
        ([heading, report.results.hosts.map(\.summary).joined(separator: "\n"), ""] + lines + ["", legend]).joined(separator: "\n")
    }

    private var heading: String {
        let options = report.results.options
        let rounds = options.rounds == 1 ? "1 round" : "\(options.rounds) rounds"
        let heading =
            "A timer every \(DurationText.format(nanoseconds: options.period)), \(rounds) of "
            + "\(DurationText.format(nanoseconds: options.duration)) for each row, which take turns"
        return report.results.isPartial ? heading + " (PARTIAL: only \(report.results.rounds.count) begun)" : heading
    }

    private static let columns = [
        Column(group: "", title: "backend") { $0.case.description },
        Column(group: "", title: "ticks") { String($0.ticks) },
        Column(group: "", title: "missed") { String($0.missed) },
        Column(group: "lateness (µs)", title: "p50") { NumberText.microseconds(Double($0.lateness.p50)) },
        Column(group: "lateness (µs)", title: "p90") { NumberText.microseconds(Double($0.lateness.p90)) },
        Column(group: "lateness (µs)", title: "p99") { NumberText.microseconds(Double($0.lateness.p99)) },
        Column(group: "lateness (µs)", title: "p99.9") { NumberText.microseconds(Double($0.lateness.p999)) },
        Column(group: "lateness (µs)", title: "max") { NumberText.microseconds(Double($0.lateness.max)) },
        Column(group: "jitter", title: "(µs)") { NumberText.microseconds($0.jitter.stddev) },
        Column(group: "drift", title: "(ppm)") { NumberText.fixed($0.drift?.ppm, places: 1) },
        Column(group: "drift", title: "±noise") { NumberText.fixed($0.drift?.noise, places: 1) },
        Column(group: "CPU", title: "(%)") { NumberText.fixed($0.cpuPercent, places: 2) },
        Column(group: "wake-ups", title: "per tick") { NumberText.fixed($0.wakeUpsPerTick, places: 2) },
        Column(group: "× floor", title: "p50") { NumberText.fixed($0.ratioToFloor.p50, places: 2) },
        Column(group: "× floor", title: "p99") { NumberText.fixed($0.ratioToFloor.p99, places: 2) },
    ]

    /// The header and the rows. The first column is flush left, numbers are flush right.
    private var lines: [String] {
        let cells = [Self.columns.map(\.title)] + report.rows.map { row in Self.columns.map { $0.cell(row) } }
        var widths = Self.columns.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        widen(&widths)
        let body = cells.map { line in
            zip(line, widths).enumerated().map { pad($1.0, to: $1.1, left: $0 == 0) }.joined(separator: "  ")
        }
        return [groups(widths)] + body
    }

    /// Makes the first column of a group wider where its columns together are too narrow for its title.
    private func widen(_ widths: inout [Int]) {
        for group in groupRanges {
            let name = Self.columns[group.lowerBound].group.count
            // Room for a rule on both sides of the name of several columns.
            let lack = name + (group.count > 1 ? 4 : 0) - width(of: group, widths)
            if lack > 0 { widths[group.lowerBound] += lack }
        }
    }

    /// The line of the groups' names, each above its columns.
    private func groups(_ widths: [Int]) -> String {
        groupRanges
            .map { title(Self.columns[$0.lowerBound].group, over: $0, width: width(of: $0, widths)) }
            .joined(separator: "  ")
    }

    /// The columns of each group.
    private var groupRanges: [Range<Int>] {
        var ranges: [Range<Int>] = []
        for (position, column) in Self.columns.enumerated() {
            if let last = ranges.last, !column.group.isEmpty, Self.columns[last.lowerBound].group == column.group {
                ranges[ranges.count - 1] = last.lowerBound..<position + 1
            } else {
                ranges.append(position..<position + 1)
            }
        }
        return ranges
    }

    /// A group's name, with a rule that shows how far it reaches where it has several columns.
    private func title(_ name: String, over columns: Range<Int>, width: Int) -> String {
        guard columns.count > 1 else { return pad(name, to: width, left: false) }
        let rule = width - name.count - 2
        return String(repeating: "─", count: rule / 2) + " \(name) " + String(repeating: "─", count: rule - rule / 2)
    }

    private func width(of columns: Range<Int>, _ widths: [Int]) -> Int {
        widths[columns].reduce(0, +) + 2 * (columns.count - 1)
    }

    private func pad(_ text: String, to width: Int, left: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return left ? text + space : space + text
    }

    private let legend = """
        lateness  from the deadline to the handler's first line, by the clock; percentiles of all rounds' ticks together
        missed    deadlines that got no tick of their own, for the tick before them came too late
        jitter    standard deviation of the lateness
        drift     slope of the lateness, in µs per second: the median over all turns of a line through the medians of up
                  to 16 blocks of ticks of the turn's second half, when processors have settled. ±noise is three standard
                  errors of it, from the blocks' distances to the lines or the turns' spread, whichever is more: a drift
                  below it is none that this run could see; a longer --duration sees smaller ones
        CPU       time on a processor per time that passed; wake-ups are voluntary context switches
        × floor   lateness as a multiple of floor-timerfd's in the same round; the median of the rounds
        floor-…   references without the library: bare loops of clock_nanosleep and of timerfd
        """
}
