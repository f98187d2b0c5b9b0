/// The figures of one load as tables.
struct PageTables {
    /// One column: what stands above it, and what stands in it.
    private struct Column: Sendable {
        let group: String
        let title: String
        let cell: @Sendable (RowReport) -> String
        /// Whether a reader's eye should be drawn to it.
        var isAlarming: @Sendable (RowReport) -> Bool = { _ in false }
    }

    let rows: [RowReport]
    let pairs: [PairReport]
    let load: String

    private static func time(_ group: String, _ title: String, _ value: @escaping @Sendable (RowReport) -> Double)
        -> Column
    {
        Column(group: group, title: title) { NumberText.microseconds(value($0)) }
    }

    /// What few readers look for, and those badly.
    private static let details = [
        time("lateness (µs)", "min") { Double($0.lateness.min) },
        time("lateness (µs)", "mean") { $0.lateness.mean },
        time("lateness (µs)", "p99 − p50") { Double($0.jitter.p99LessP50) },
        time("until the alarm woke (µs)", "p50") { Double($0.wake.p50) },
        time("until the alarm woke (µs)", "p99") { Double($0.wake.p99) },
        time("from there to the handler (µs)", "p50") { Double($0.hop.p50) },
        time("from there to the handler (µs)", "p99") { Double($0.hop.p99) },
        time("interval error (µs)", "p50") { Double($0.intervalError.p50) },
        time("interval error (µs)", "p99") { Double($0.intervalError.p99) },
        Column(group: "drift (µs)", title: "end offset") { row in
            row.drift.map { NumberText.microseconds($0.endOffset) } ?? "–"
        },
    ]

    private static let columns = [
        Column(group: "", title: "ticks") { String($0.ticks) },
        Column(group: "deadlines", title: "missed", cell: { String($0.missed) }, isAlarming: { $0.missed > 0 }),
        Column(group: "deadlines", title: "early", cell: { String($0.early) }, isAlarming: { $0.early > 0 }),
        Column(group: "lateness (µs)", title: "p50") { NumberText.microseconds(Double($0.lateness.p50)) },
        Column(group: "lateness (µs)", title: "p90") { NumberText.microseconds(Double($0.lateness.p90)) },
        Column(group: "lateness (µs)", title: "p99") { NumberText.microseconds(Double($0.lateness.p99)) },
        Column(group: "lateness (µs)", title: "p99.9") { NumberText.microseconds(Double($0.lateness.p999)) },
        Column(group: "lateness (µs)", title: "max") { NumberText.microseconds(Double($0.lateness.max)) },
        Column(group: "lateness (µs)", title: "jitter") { NumberText.microseconds($0.jitter.stddev) },
        Column(group: "corrected (µs)", title: "p50") { NumberText.microseconds(Double($0.corrected.p50)) },
        Column(group: "corrected (µs)", title: "p99") { NumberText.microseconds(Double($0.corrected.p99)) },
        Column(group: "drift (ppm)", title: "slope") { NumberText.fixed($0.drift?.ppm, places: 1) },
        Column(group: "drift (ppm)", title: "± noise") { NumberText.fixed($0.drift?.noise, places: 1) },
        Column(group: "price", title: "CPU %") { NumberText.fixed($0.cpuPercent, places: 2) },
        Column(group: "per tick", title: "wake-ups") { NumberText.fixed($0.wakeUpsPerTick, places: 2) },
        Column(group: "per tick", title: "switches") { NumberText.fixed($0.contextSwitchesPerTick, places: 2) },
        Column(group: "× floor", title: "p50") { NumberText.fixed($0.ratioToFloor.p50, places: 2) },
        Column(group: "× floor", title: "p99") { NumberText.fixed($0.ratioToFloor.p99, places: 2) },
    ]

    /// Neighbours with one name, each with how many columns it spans.
    private static func groups(of columns: [Column]) -> [(name: String, count: Int)] {
        columns.map(\.group)
            .reduce(into: []) { groups, name in
                if let last = groups.last, last.name == name {
                    groups[groups.count - 1].count += 1
                } else {
                    groups.append((name, 1))
                }
            }
    }

    /// The figures of all rows.
    var results: String { table("Results", "The figures", Self.columns) }

    /// More figures of all rows.
    var details: String { table("More figures", "More figures", Self.details) }

    private func table(_ name: String, _ caption: String, _ columns: [Column]) -> String {
        let groups = Self.groups(of: columns)
            .map { "<th scope=\"colgroup\" colspan=\"\($0.count)\">\(PageText.escaped($0.name))</th>" }
        let titles = columns.map { "<th scope=\"col\">\(PageText.escaped($0.title))</th>" }
        let body = rows.map { row in
            let cells = columns.map { column in
                "<td\(column.isAlarming(row) ? " class=\"alarm\"" : "")>\(PageText.escaped(column.cell(row)))</td>"
            }
            return
                "<tr data-row=\"\(PageText.escaped(row.case.row))\"><th scope=\"row\">\(PageText.escaped(row.case.row))"
                + " <span class=\"kind\">\(row.case.kind.rawValue)</span></th>\(cells.joined())</tr>"
        }
        return Self.scrolling(
            "\(name), \(load)",
            """
            <table class="results"><caption>\(caption)</caption>
            <thead><tr><td></td>\(groups.joined())</tr>
            <tr><th scope="col">row</th>\(titles.joined())</tr></thead>
            <tbody>
            \(body.joined(separator: "\n"))
            </tbody></table>
            """
        )
    }

    /// All pairs, the figures of two cases in one line.
    var comparisons: String {
        guard !pairs.isEmpty else { return "" }
        let figures = Comparing.Figure.allCases
        var seen: Set<[Case]> = []
        let firsts = pairs.filter { seen.insert([$0.first, $0.second]).inserted }
        let body = firsts.map { pair in
            let cells = figures.map { figure in
                Self.cells(pairs.first { $0.first == pair.first && $0.second == pair.second && $0.figure == figure })
            }
            return "<tr><th scope=\"row\">\(PageText.escaped(pair.first.row)) <span class=\"kind\">beside</span> "
                + "\(PageText.escaped(pair.second.row))</th>\(cells.joined())</tr>"
        }
        let groups = figures.map { "<th scope=\"colgroup\" colspan=\"3\">\($0.rawValue)</th>" }
        let titles = figures.map { _ in
            "<th scope=\"col\">ratio</th><th scope=\"col\">interval</th><th scope=\"col\">verdict</th>"
        }
        return Self.scrolling(
            "Pairs, \(load)",
            """
            <table class="pairs"><caption>Two and two held against each other</caption>
            <thead><tr><td></td>\(groups.joined())</tr>
            <tr><th scope="col">pair</th>\(titles.joined())</tr></thead>
            <tbody>
            \(body.joined(separator: "\n"))
            </tbody></table>
            """
        ) + """

            <p class="quiet">The ratio is the first’s corrected lateness to the second’s, the median of the rounds; below 1 the first \
            is less late. The interval holds it in 99 of 100 samples of the rounds; faster or slower is said only where \
            all of it lies on one side of 1, and where equal rows would have so many rounds agree once in a hundred times \
            at most, for which there must be \(Comparing.fewestRounds).</p>
            """
    }

    private static func cells(_ pair: PairReport?) -> String {
        guard let pair else { return "<td>–</td><td>–</td><td>–</td>" }
        let mark =
            switch pair.verdict {
            case .faster: "▼ "
            case .slower: "▲ "
            case .indistinguishable: ""
            }
        return "<td>\(NumberText.ratio(pair.ratio))</td>"
            + "<td>\(NumberText.ratio(pair.low)) – \(NumberText.ratio(pair.high))</td>"
            + "<td class=\"verdict \(pair.verdict.rawValue)\">\(mark)\(pair.verdict.rawValue)</td>"
    }

    /// A table that scrolls by itself where it is too wide, also with the keyboard.
    static func scrolling(_ name: String, _ table: String) -> String {
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"\(PageText.escaped(name))\">\n\(table)\n</div>"
    }
}
