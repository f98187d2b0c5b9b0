internal import TimerResults

/// The tables of one load.
struct PageTables {
    let report: Report
    let rows: [RowReport]
    let load: String

    /// The figures of all rows that belong to a place.
    func figures(_ place: Figure.Column.Place, _ name: String, _ caption: String) -> String {
        let columns = FigureColumn.all(place, for: report)
        let groups = columns.map(\.column.group).neighbours
            .map { group in
                "<th scope=\"colgroup\" "
                    + "colspan=\"\(group.count)\">\(PageText.escaped(columns[group.lowerBound].column.group))</th>"
            }
        let titles = columns.map { "<th scope=\"col\">\(PageText.escaped($0.column.title))</th>" }
        let body = rows.map { row in
            let cells = columns.map { column in
                "<td\(column.isAlarming(row) ? " class=\"alarm\"" : "")>\(PageText.escaped(column.text(row)))</td>"
            }
            let name = PageText.escaped(row.key.row)
            let kind = "<span class=\"kind\">\(row.key.kind.rawValue)</span>"
            return "<tr data-row=\"\(name)\"><th scope=\"row\">\(name) \(kind)</th>\(cells.joined())</tr>"
        }
        return Self.table(
            "results",
            name: "\(name), \(load)",
            caption,
            head: [["<td></td>"] + groups, ["<th scope=\"col\">row</th>"] + titles],
            body: body
        )
    }

    /// The comparisons of pairs, one line for each pair; empty without pairs.
    var pairs: String {
        let pairs = report.pairs.filter { $0.first.load == load }
        guard !pairs.isEmpty else { return "" }
        let percentiles = Comparing.Percentile.allCases
        var seen: Set<[RowKey]> = []
        let body = pairs.filter { seen.insert([$0.first, $0.second]).inserted }
            .map { pair in
                let cells = percentiles.map { percentile in
                    Self.cells(
                        pairs.first {
                            $0.first == pair.first && $0.second == pair.second && $0.percentile == percentile
                        }
                    )
                }
                return "<tr><th scope=\"row\">\(PageText.escaped(pair.first.row)) <span class=\"kind\">beside</span> "
                    + "\(PageText.escaped(pair.second.row))</th>\(cells.joined())</tr>"
            }
        let groups = percentiles.map { "<th scope=\"colgroup\" colspan=\"3\">\($0.rawValue)</th>" }
        let titles = percentiles.flatMap { _ in
            ["ratio", "interval", "verdict"].map { "<th scope=\"col\">\($0)</th>" }
        }
        return Self.table(
            "pairs",
            name: "Pairs, \(load)",
            "Pairwise comparison",
            head: [["<td></td>"] + groups, ["<th scope=\"col\">pair</th>"] + titles],
            body: body
        ) + """

            <p class="quiet">The ratio is the first’s corrected lateness divided by the second’s, the median of the \
            rounds; below 1 the first is less late. The interval holds it in 99 of 100 samples of the rounds. A \
            verdict of faster or slower needs two things: the whole interval lies on one side of 1, and equal rows \
            would have so many rounds agree at most once in a hundred times. That takes at least \
            \(Comparing.fewestRounds) rounds.</p>
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
        return "<td>\(NumberText.ratio(pair.ratio))</td><td>\(NumberText.ratio(pair.low)) – "
            + "\(NumberText.ratio(pair.high))</td><td class=\"verdict "
            + "\(pair.verdict.rawValue)\">\(mark)\(pair.verdict.rawValue)</td>"
    }

    /// A table of words, whose first column heads its rows.
    static func words(_ caption: String, titles: [String] = [], _ lines: [[String]]) -> String {
        let body = lines.map { line in
            "<tr><th scope=\"row\">\(PageText.escaped(line[0]))</th>"
                + line.dropFirst().map { "<td>\(PageText.escaped($0))</td>" }.joined() + "</tr>"
        }
        let head = titles.map { $0.isEmpty ? "<td></td>" : "<th scope=\"col\">\(PageText.escaped($0))</th>" }
        return table("words", name: caption, caption, head: head.isEmpty ? [] : [head], body: body)
    }

    /// A table that scrolls by itself if it is too wide, with the keyboard, too.
    private static func table(
        _ style: String,
        name: String,
        _ caption: String,
        head: [[String]],
        body: [String]
    ) -> String {
        let rows = head.map { "<tr>\($0.joined())</tr>" }.joined(separator: "\n")
        return """
            <div class="scroll" role="region" tabindex="0" aria-label="\(PageText.escaped(name))">
            <table class="\(style)"><caption>\(PageText.escaped(caption))</caption>
            \(head.isEmpty ? "" : "<thead>\(rows)</thead>")
            <tbody>
            \(body.joined(separator: "\n"))
            </tbody></table>
            </div>
            """
    }
}
