internal import TimerResults

/// The tables of one load.
struct PageTables {
    let report: Report
    let rows: [RowReport]
    let looks: [String: PageLook]
    let load: String

    // MARK: Figures

    /// All figures of all rows, lateness first.
    var figures: String {
        let all = [Figure.Column.Place.page, .details].flatMap { FigureColumn.all($0, for: report) }
        var names: [String] = []
        for name in all.map(\.group) where !names.contains(name) { names.append(name) }
        let lateness = names.filter { $0.hasPrefix("lateness") }
        let groups = (lateness + names.filter { !lateness.contains($0) })
            .map { name in (name: name, columns: all.filter { $0.group == name }) }
        let heads = groups.map { group in
            "<th scope=\"colgroup\" colspan=\"\(group.columns.count)\">\(PageText.escaped(group.name))</th>"
        }
        let columns = groups.flatMap(\.columns)
        return Self.scrolling(
            "figures",
            "All figures, \(load)",
            head: ["<tr><td></td>\(heads.joined())</tr>", Self.titles(["row"] + columns.map(\.column.title))],
            rows.map { row in line(row, columns.map { $0.cell(row) }) }
        )
    }

    /// The processor time of every row, with its wake-ups and context switches.
    var prices: String {
        let names = ["cpu", "wakeups", "switches"]
        let figures = names.compactMap { name in Figure.all.first { $0.name == name } }
        let highest = rows.compactMap(\.cpuPercent).max() ?? 0
        return Self.scrolling(
            "prices",
            "Price, \(load)",
            head: [Self.titles(["row", "CPU %", "wake-ups per tick", "switches per tick", ""])],
            rows.map { row in
                let bar = PageDrawing.bar(highest > 0 ? (row.cpuPercent ?? 0) / highest : 0)
                return line(row, figures.map { $0.cell(row) }, more: "<td class=\"wide\">\(bar)</td>")
            }
        )
    }

    /// The causes of every row's late ticks; empty if the measurement did not look for them.
    var lateTicks: String {
        let explained = rows.filter { $0.late != nil }
        let causes = LateTicks.Cause.allCases.filter { cause in explained.contains { ($0.late?[cause] ?? 0) > 0 } }
        guard let threshold = explained.first?.late?.threshold else { return "" }
        return Self.scrolling(
            "late",
            "Late ticks, \(load)",
            head: [
                Self.titles(["row", "later than \(PageText.time(Int64(clamping: threshold)))"] + causes.map(\.words))
            ],
            explained.map { row in line(row, [row.late?.count ?? 0] + causes.map { row.late?[$0] ?? 0 }) }
        )
    }

    /// The slope of every row's lateness; empty if the turns were too short for one.
    var drifts: String {
        guard rows.contains(where: { $0.drift != nil }) else { return "" }
        return Self.scrolling(
            "drifts",
            "Drift, \(load)",
            head: [Self.titles(["row", "slope (ppm)", "± noise (ppm)", ""])],
            rows.map { row in
                let figures = [row.drift?.ppm, row.drift?.noise].map { NumberText.fixed($0, places: 1) }
                let verdict = row.drift == nil ? "too few ticks" : row.isDrifting ? "drifts" : "no drift seen"
                return line(row, figures + [verdict])
            }
        )
    }

    private func line(_ row: RowReport, _ counts: [Int]) -> String { line(row, counts.map(String.init)) }

    private func line(_ row: RowReport, _ cells: [String], more: String = "") -> String {
        let name = PageText.escaped(row.key.row)
        let broken = row.problem == nil ? "" : " wrong"
        return "<tr class=\"\(looks[row.key.row]?.style ?? "")\(broken)\"><th scope=\"row\">\(name)</th>"
            + cells.map { "<td>\(PageText.escaped($0))</td>" }.joined() + more + "</tr>"
    }

    // MARK: Pairs

    /// The comparisons of pairs, one line for each pair; empty without pairs.
    var pairs: String {
        var seen: Set<[RowKey]> = []
        let percentiles = PairReport.Percentile.allCases
        let lines = report.pairs.filter { seen.insert([$0.first, $0.second]).inserted }
            .map { pair in
                let cells = percentiles.map { percentile in
                    let known = report.pairs.first {
                        $0.first == pair.first && $0.second == pair.second && $0.percentile == percentile
                    }
                    let isDifferent = known.map { [.later, .earlier].contains($0.ratio.verdict) } ?? false
                    let style = isDifferent ? "" : " class=\"quiet\""
                    let words = PageText.escaped(known?.ratio.words ?? "–")
                    return "<td data-name=\"\(percentile.rawValue)\"\(style)>\(words)</td>"
                }
                let names = [pair.first, pair.second].map { PageText.escaped($0.row) }
                let isPeer = pair.second.kind == .peer ? " class=\"peer\"" : ""
                return "<tr\(isPeer)><th scope=\"row\">\(names[0]) <span>against</span> \(names[1])</th>"
                    + cells.joined() + "</tr>"
            }
        let head = [Self.titles(["pair"] + percentiles.map(\.rawValue))]
        return lines.isEmpty ? "" : Self.scrolling("pairs", "Pairs, \(load)", head: head, lines)
    }

    // MARK: Any table

    static func titles(_ titles: [String]) -> String {
        let cells = titles.map { $0.isEmpty ? "<td></td>" : "<th scope=\"col\">\(PageText.escaped($0))</th>" }
        return "<tr>\(cells.joined())</tr>"
    }

    /// A table that scrolls in its own box if it is too wide, with the keyboard, too.
    static func scrolling(_ style: String, _ name: String, head: [String], _ lines: [String]) -> String {
        """
        <div class="scroll" role="region" tabindex="0" aria-label="\(PageText.escaped(name))">
        <table class="\(style)">\(head.isEmpty ? "" : "<thead>\(head.joined())</thead>")<tbody>
        \(lines.joined(separator: "\n"))
        </tbody></table></div>
        """
    }
}

extension RowReport {
    /// Whether the slope is greater than its noise.
    fileprivate var isDrifting: Bool { drift.map { $0.ppm.magnitude > $0.noise } ?? false }
}

extension FigureColumn {
    /// The group's name without a unit: every time has its own.
    fileprivate var group: String {
        figure.unit == .nanoseconds ? column.group.replacing(" (µs)", with: "") : column.group
    }

    fileprivate func cell(_ row: RowReport) -> String {
        guard figure.unit == .nanoseconds, column.text == nil else { return text(row) }
        return figure(row).flatMap { Int64(exactly: $0.rounded()) }.map(PageText.time) ?? "–"
    }
}
