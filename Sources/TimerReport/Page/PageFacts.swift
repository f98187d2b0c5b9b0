internal import TimerResults

/// What was asked for, on which machine, and what disturbed it.
struct PageFacts {
    private let results: Results
    private let problems: [String]

    init(_ report: Report) {
        results = report.results
        problems = report.problems
    }

    /// What was measured, in two sentences.
    var question: String {
        let options = results.options
        let timers = options.timers == 1 ? "A timer" : "\(options.timers) timers"
        let loads = options.loads.count > 1 ? " under each of \(options.loads.count) loads" : ""
        let rounds = options.rounds == 1 ? "1 round" : "\(options.rounds) rounds"
        return "\(timers) every \(Self.length(options.period)), \(rounds) of \(Self.length(options.duration)) for each "
            + "row\(loads), all taking turns. Lateness is the time from a deadline to the handler’s first line."
    }

    /// What a reader must know first, as HTML.
    var warnings: String {
        var warnings = problems.map { "A promise was broken: \($0)" }
        if let missing = results.missingRounds { warnings.append("Partial: \(missing).") }
        if results.hosts.contains(where: { $0.build == .debug }) {
            warnings.append("A debug build was measured: real figures come from release builds.")
        }
        return warnings.map { "<p class=\"warning\">\(PageText.escaped($0))</p>" }.joined(separator: "\n")
    }

    var html: String {
        """
        <section class="facts" aria-label="What was measured, on which machine">
        <h2>What was measured, on which machine</h2>
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
        return PageTables.words(
            isOne ? "The host" : "The hosts",
            titles: isOne ? [] : [""] + results.hosts.indices.map { "host \($0 + 1)" },
            facts.map { name, value in [name] + results.hosts.map(value) }
        )
    }

    private var options: String {
        let options = results.options
        return PageTables.words(
            "What was asked for",
            [
                ["rows", options.rows.joined(separator: ", ")], ["loads", options.loads.joined(separator: ", ")],
                ["period", Self.length(options.period)],
                ["for each row in a round", Self.length(options.duration)],
                ["rounds", "\(options.rounds); this page has \(results.rounds.count)"],
                ["warm-up", Self.length(options.warmUp)], ["timers at a time", String(options.timers)],
                ["handlers run", options.delivery], ["clock", options.clock], ["seed", String(options.seed)],
            ]
        )
    }

    private var remarks: String {
        results.remarks.isEmpty
            ? "<h3>What was obtained</h3>\n<p>Everything that was asked for.</p>"
            : PageTables.words(
                "What was obtained instead",
                titles: ["asked for", "obtained", "because"],
                results.remarks.map { [$0.asked, $0.obtained, $0.reason] }
            )
    }

    private var disturbances: String {
        let lines = results.rounds.enumerated()
            .flatMap { number, round in
                let host = results.hosts.count > 1 ? " (host \(round.host + 1))" : ""
                return round.disturbances.map { "<li>Round \(number + 1)\(host): \(PageText.escaped($0))</li>" }
            }
        let list = lines.isEmpty ? "<p>No round was disturbed.</p>" : "<ul>\n\(lines.joined(separator: "\n"))\n</ul>"
        return "<h3>Disturbances</h3>\n\(list)"
    }

    private static func length(_ nanoseconds: UInt64) -> String {
        let text = DurationText.format(nanoseconds: nanoseconds)
        let number = text.prefix { !$0.isLetter }
        return "\(number) \(text.dropFirst(number.count).replacing("us", with: "µs"))"
    }
}
