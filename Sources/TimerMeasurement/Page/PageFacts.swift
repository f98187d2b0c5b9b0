/// What was asked, where, and what came between.
struct PageFacts {
    private let report: Report

    init(_ report: Report) { self.report = report }

    private var results: Results { report.results }

    /// What was measured, in one sentence.
    var question: String {
        let options = results.options
        let timers = options.timers == 1 ? "A timer" : "\(options.timers) timers"
        let loads = options.loads.count > 1 ? " under each of \(options.loads.count) loads" : ""
        return "\(timers) every \(Self.length(options.period)), "
            + "\(PageText.count(options.rounds, "round")) of \(Self.length(options.duration)) for each row\(loads), all "
            + "taking turns. Lateness is the time from a deadline to the handler’s first line."
    }

    /// What a reader must know before all else.
    var warnings: String {
        var warnings = report.faults.map { "This must never be: \($0)" }
        if let lack = results.lack { warnings.append("Partial: \(lack).") }
        if results.hosts.contains(where: { $0.build == .debug }) {
            warnings.append("A debug build was measured: real figures come from release builds.")
        }
        return warnings.map { "<p class=\"warning\">\(PageText.escaped($0))</p>" }.joined(separator: "\n")
    }

    var html: String {
        """
        <section class="facts" aria-label="What was measured, and where">
        <h2>What was measured, and where</h2>
        \(hosts)
        \(options)
        \(remarks)
        \(disturbances)
        </section>
        """
    }

    private var hosts: String {
        let unknown = "not known"
        let facts: [(String, (Host) -> String)] = [
            ("system", { "\($0.system) \($0.kernel)" }), ("machine", { $0.machine }),
            ("processor", { $0.cpu ?? "not named" }), ("processors online", { String($0.processors) }),
            ("processors it may use", { $0.usableProcessors.map(String.init) ?? unknown }),
            (
                "limit of its control group",
                { $0.cpuQuota.map { "\(NumberText.fixed($0, places: 2)) processors" } ?? "none" }
            ),
            ("a guest of another machine", { $0.hypervisor.map { $0 ? "yes" : "no" } ?? unknown }),
            ("frequency governor", { $0.governor ?? unknown }), ("clock source", { $0.clockSource ?? unknown }),
            ("reading the clock", { $0.clockRead.map { "\(NumberText.fixed($0, places: 1)) ns" } ?? unknown }),
            ("build", { $0.build.rawValue }),
        ]
        let names = results.hosts.indices.map { results.hosts.count > 1 ? "host \($0 + 1)" : "" }
        let head =
            results.hosts.count > 1
            ? "<thead><tr><td></td>\(names.map { "<th scope=\"col\">\($0)</th>" }.joined())</tr></thead>" : ""
        return Self.table(
            results.hosts.count > 1 ? "The hosts" : "The host",
            head,
            facts.map { name, value in [name] + results.hosts.map(value) }
        )
    }

    private var options: String {
        let options = results.options
        return Self.table(
            "What was asked for",
            "",
            [
                ["rows", options.rows.joined(separator: ", ")], ["loads", options.loads.joined(separator: ", ")],
                ["period", Self.length(options.period)],
                ["for each row in a round", Self.length(options.duration)],
                ["rounds", "\(options.rounds), of which \(results.rounds.count) are in it"],
                ["warm-up", Self.length(options.warmUp)], ["timers at a time", String(options.timers)],
                ["handlers run", options.delivery], ["clock", options.clock], ["seed", String(options.seed)],
            ]
        )
    }

    private var remarks: String {
        guard !results.remarks.isEmpty else {
            return "<h3>What was obtained</h3>\n<p>All that was asked for.</p>"
        }
        let head = ["asked for", "obtained", "because"].map { "<th scope=\"col\">\($0)</th>" }.joined()
        return Self.table(
            "What was obtained instead",
            "<thead><tr>\(head)</tr></thead>",
            results.remarks.map { [$0.asked, $0.obtained, $0.reason] }
        )
    }

    private var disturbances: String {
        let lines = results.rounds.enumerated()
            .flatMap { number, round in
                round.disturbances.map { text in
                    let host = results.hosts.count > 1 ? " (host \(round.host + 1))" : ""
                    return "<li>Round \(number + 1)\(host): \(PageText.escaped(text))</li>"
                }
            }
        let list = lines.isEmpty ? "<p>None was noticed.</p>" : "<ul>\n\(lines.joined(separator: "\n"))\n</ul>"
        return "<h3>Disturbances</h3>\n\(list)"
    }

    /// A small table, the first column of which are its rows' headers.
    private static func table(_ title: String, _ head: String, _ lines: [[String]]) -> String {
        let body = lines.map { line in
            "<tr><th scope=\"row\">\(PageText.escaped(line[0]))</th>"
                + line.dropFirst().map { "<td>\(PageText.escaped($0))</td>" }.joined() + "</tr>"
        }
        return PageTables.scrolling(
            title,
            """
            <table class="words"><caption>\(PageText.escaped(title))</caption>
            \(head)<tbody>
            \(body.joined(separator: "\n"))
            </tbody></table>
            """
        )
    }

    private static func length(_ nanoseconds: UInt64) -> String {
        let text = DurationText.format(nanoseconds: nanoseconds)
        let number = text.prefix { !$0.isLetter }
        return "\(number) \(text.dropFirst(number.count).replacing("us", with: "µs"))"
    }
}
