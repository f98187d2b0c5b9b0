/// One column of a table of results.
struct ResultColumn: Sendable {
    /// What it has in common with its neighbours.
    let group: String
    /// What it is called among them.
    let title: String
    /// What it means, in a line; nil where the column before says it.
    let about: String?
    /// What stands in it.
    let text: @Sendable (RowReport) -> String
    /// What the rows are better in the less it is; nil where there is no better.
    let rivalry: (@Sendable (RowReport) -> Double?)?

    init(
        _ group: String,
        _ title: String,
        _ about: String?,
        rivalry: (@Sendable (RowReport) -> Double?)? = nil,
        text: @escaping @Sendable (RowReport) -> String
    ) {
        self.group = group
        self.title = title
        self.about = about
        self.rivalry = rivalry
        self.text = text
    }

    /// A column of numbers that are better the less they are.
    private static func figure(
        _ group: String,
        _ title: String,
        _ about: String? = nil,
        places: Int,
        _ value: @escaping @Sendable (RowReport) -> Double?
    ) -> ResultColumn {
        ResultColumn(group, title, about, rivalry: value) { NumberText.fixed(value($0), places: places) }
    }

    /// A column of latenesses.
    private static func microseconds(
        _ group: String,
        _ title: String,
        _ about: String? = nil,
        _ value: @escaping @Sendable (RowReport) -> Int64
    ) -> ResultColumn {
        figure(group, title, about, places: 1) { Double(value($0)) / 1000 }
    }

    /// The columns that tell something of these results, but for the rows' names.
    static func all(for report: Report) -> [ResultColumn] {
        counts(for: report) + latenesses(for: report) + drift + price + ratios
    }

    private static func counts(for report: Report) -> [ResultColumn] {
        let ticks = ResultColumn("count", "ticks", "calls of the handler, in all rounds together") { String($0.ticks) }
        let missed = ResultColumn(
            "count",
            "missed",
            "deadlines that got no tick of their own, for the tick before them came too late"
        ) { String($0.missed) }
        let early = ResultColumn("count", "early", "ticks before their deadline; of a backend there must be none") {
            String($0.early)
        }
        return [ticks, missed] + (report.rows.contains { $0.early > 0 } ? [early] : [])
    }

    private static func latenesses(for report: Report) -> [ResultColumn] {
        let lateness = "lateness (µs)"
        let p50 = "what so many percent of all ticks do not exceed, from the deadline to the handler's first line"
        let corrected =
            "the same for every deadline: one that got no tick of its own was late until the tick came that carried it"
        let wake = "the part until the alarm's thread looked at the clock (p50)"
        let hop = "the part from there to the handler, in its queue (p50)"
        var columns = [
            microseconds(lateness, "p50", p50) { $0.lateness.p50 },
            microseconds(lateness, "p90") { $0.lateness.p90 },
            microseconds(lateness, "p99") { $0.lateness.p99 },
            microseconds(lateness, "p99.9") { $0.lateness.p999 },
            microseconds(lateness, "max", "the latest tick") { $0.lateness.max },
            figure(lateness, "jitter", "standard deviation of the lateness", places: 1) { $0.jitter.stddev / 1000 },
        ]
        if report.rows.contains(where: { $0.missed > 0 }) {
            columns.append(microseconds("corrected", "p99 (µs)", corrected) { $0.corrected.p99 })
        }
        if report.results.options.delivery != HandlerPlace.inline.rawValue {
            columns.append(microseconds("p50 of (µs)", "waking", wake) { $0.wake.p50 })
            columns.append(microseconds("p50 of (µs)", "hop", hop) { $0.hop.p50 })
        }
        return columns
    }

    private static let drift = [
        ResultColumn(
            "drift",
            "ppm ±",
            "µs later per second that passes, ± its noise: less than that is none that this measurement could see"
        ) { row in
            // Digits below the noise say nothing.
            row.drift.map { drift in
                let places = drift.noise < 10 ? 1 : 0
                return
                    "\(NumberText.fixed(drift.ppm, places: places)) ±\(NumberText.fixed(drift.noise, places: places))"
            } ?? "–"
        }
    ]

    private static let price = [
        figure("price", "CPU%", "time on a processor per time that passed", places: 2) { $0.cpuPercent },
        figure("price", "wake", "how often a thread was woken, per tick", places: 2) { $0.wakeUpsPerTick },
        figure("price", "switch", "context switches, per tick", places: 2) { $0.contextSwitchesPerTick },
    ]

    private static let ratios = [
        figure(
            "× floor",
            "p50",
            "corrected lateness as a multiple of floor-timerfd's under the same load: the median of the rounds' ratios",
            places: 2
        ) { $0.ratioToFloor.p50 },
        figure("× floor", "p99", places: 2) { $0.ratioToFloor.p99 },
    ]

    /// The row's name.
    static let name = ResultColumn("", "row", nil) { $0.case.row }

    /// The row's latenesses as bars.
    static func spread(_ bins: LatenessBins) -> ResultColumn {
        let about =
            "ticks by lateness, in \(LatenessBins.count) bins of \(bins.range), each wider than the last by one factor; "
            + "the fullest is full"
        return ResultColumn("spread", bins.range, about) { bins.bars($0.distribution) }
    }
}
