internal import TimerResults

/// The circumstances of the measurement: the request, the machine, the disturbances.
struct PageFacts {
    private let report: Report
    private var results: Results { report.results }

    init(_ report: Report) { self.report = report }

    /// The measurement in one line, which is the first line of the short table.
    var line: String {
        let heading = ShortTable(report, width: .max).heading
        let first = heading.prefix(1).uppercased() + heading.dropFirst()
        let dates = Set(results.origins.map { String($0.date.prefix(10)) }).sorted()
        return dates.count == 1 ? "\(first) · \(dates[0])" : first
    }

    /// Broken promises, as HTML.
    var warnings: String {
        report.rows.compactMap { row in row.problem.map { "\(row.key) broke a promise: \($0)." } }
            .map { "<p class=\"warning\">\(PageText.escaped($0))</p>" }.joined(separator: "\n")
    }

    /// The folded parts that every load shares.
    var html: String {
        [
            PageDetails(
                name: "machine",
                title: "Machine",
                about: results.hosts.count == 1 ? "what was measured, and where" : "\(results.hosts.count) hosts",
                content: [hosts, options, remarks, disturbances].joined(separator: "\n")
            ),
            PageDetails(name: "origin", title: "Origin", about: "when and by what it was measured", content: origins),
            PageDetails(
                name: "reading",
                title: "How to read this",
                about: "the words of the page",
                content: PageGuide.html
            ),
        ]
        .map(\.html).filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var hosts: String {
        let unknown = "not known"
        let facts: [(String, (Host) -> String)] = [
            ("system", { "\($0.system) \($0.kernel)" }), ("machine", { $0.machine }),
            ("processor", { $0.cpu ?? "not named" }), ("processors online", { String($0.processors) }),
            ("usable processors", { $0.usableProcessors.map(String.init) ?? unknown }),
            (
                "limit of the control group",
                { $0.cpuQuota.map { "\(NumberText.fixed($0, places: 2)) processors" } ?? "no limit" }
            ),
            ("virtual machine", { $0.hypervisor.map { $0 ? "yes" : "no" } ?? unknown }),
            ("frequency governor", { $0.governor ?? unknown }), ("clock source", { $0.clockSource ?? unknown }),
            ("reading the clock", { $0.clockRead.map { "\(NumberText.fixed($0, places: 1)) ns" } ?? unknown }),
            ("build", { $0.build.rawValue }),
        ]
        let isOne = results.hosts.count == 1
        return Self.table(
            isOne ? "The host" : "The hosts",
            titles: isOne ? [] : [""] + results.hosts.indices.map { "host \($0 + 1)" },
            facts.map { name, value in [name] + results.hosts.map(value) }
        )
    }

    private var options: String {
        let options = results.options
        let completed = results.isPartial ? ", of which \(results.laps) were completed" : ""
        var lines = [
            ["rows", options.rows.joined(separator: ", ")], ["loads", options.loads.joined(separator: ", ")],
            ["period", DurationText.spaced(nanoseconds: options.period)],
            ["a turn", DurationText.spaced(nanoseconds: options.turn)], ["laps", "\(options.laps)\(completed)"],
            ["warm-up", DurationText.spaced(nanoseconds: options.warmUp)],
            ["timers at a time", String(options.timers)],
            ["handlers run", options.delivery], ["clock", options.clock], ["seed", String(options.seed)],
        ]
        if let system = options.system { lines.append(["of the system", system.joined(separator: " ")]) }
        return Self.table("What was asked for", lines)
    }

    private var remarks: String {
        let all = results.allRemarks
        let differences =
            all.isEmpty
            ? "<h4>What was obtained</h4>\n<p>Everything that was asked for.</p>"
            : Self.table(
                "What was obtained instead",
                titles: ["asked for", "obtained", "because"],
                all.map { [$0.asked, $0.obtained, $0.reason] }
            )
        let others = (results.obtainedOptions + report.shortenedSpins)
            .map { "<p>\(PageText.escaped($0)).</p>" }
        return ([differences] + others).joined(separator: "\n")
    }

    private var disturbances: String {
        let lines = results.rounds.enumerated()
            .flatMap { number, round in
                let host = results.hosts.count > 1 ? " (host \(round.host + 1))" : ""
                return round.disturbances.map { "<li>Round \(number + 1)\(host): \(PageText.escaped($0))</li>" }
            }
        let list = lines.isEmpty ? "<p>No round was disturbed.</p>" : "<ul>\n\(lines.joined(separator: "\n"))\n</ul>"
        return "<h4>Disturbances</h4>\n\(list)"
    }

    private var origins: String {
        results.origins.isEmpty
            ? ""
            : Self.table(
                "",
                titles: ["began", "took", "version", "commit"],
                results.origins.map {
                    [$0.date, "\(NumberText.fixed($0.seconds, places: 0)) s", $0.version, $0.commit ?? "not known"]
                }
            )
    }

    /// A table of words, whose first column heads its rows.
    private static func table(_ title: String, titles: [String] = [], _ lines: [[String]]) -> String {
        let body = lines.map { line in
            "<tr><th scope=\"row\">\(PageText.escaped(line[0]))</th>"
                + line.dropFirst().map { "<td>\(PageText.escaped($0))</td>" }.joined() + "</tr>"
        }
        let head = titles.isEmpty ? [] : [PageTables.titles(titles)]
        return (title.isEmpty ? "" : "<h4>\(title)</h4>\n")
            + PageTables.scrolling("words", title.isEmpty ? "Origin" : title, head: head, body)
    }
}
