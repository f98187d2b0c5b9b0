/// The catalogue. A new figure is one entry here; every table, file, rule and comparison then has it.
extension Figure {
    /// Every figure, in the order of the files. A table puts columns of one group together.
    package static let all: [Figure] = counts + latenesses + jitter + drift + price + floor

    private static let counts = [
        Figure("ticks", ["ticks"], .count) { Double($0.ticks) }
            .column(.table, "count", "ticks", "calls of the handler, in all rounds together")
            .column(.page, "", "ticks"),
        Figure("missed deadlines", ["missed"], .count) { Double($0.missed) }
            .column(
                .table,
                "count",
                "missed",
                "deadlines that got no tick of their own, because the tick before them came too late"
            )
            .column(.page, "deadlines", "missed", isAlarming: true),
        Figure("early ticks", ["early"], .count) { Double($0.early) }
            .column(
                .table,
                "count",
                "early",
                "ticks before their deadline, which a backend never has",
                isAlarming: true
            ) { $0.rows.contains { $0.early > 0 } }
            .column(.page, "deadlines", "early", isAlarming: true),
    ]

    private static let latenesses: [Figure] =
        spread("lateness", "lateness_ns", of: \.total.lateness, compared: ["p50", "p99"]) { figure, name in
            name == "mean" || name == "min"
                ? figure.column(.details, "lateness (µs)", name)
                : figure.column(.table, "lateness (µs)", name, about[name]).column(.page, "lateness (µs)", name)
        }
        + spread("corrected", "corrected_lateness_ns", of: \.corrected, compared: ["p99"]) { figure, name in
            switch name {
            case "p50": figure.column(.page, "corrected (µs)", name)
            case "p99":
                figure.column(.page, "corrected (µs)", name)
                    .column(.table, "corrected", "p99 (µs)", about["corrected"]) { $0.rows.contains { $0.missed > 0 } }
            default: figure
            }
        }
        + part("wake", "wake_lateness_ns", of: \.total.wake, "until the alarm woke (µs)") {
            $0.column(.table, "p50 of (µs)", "waking", "from the deadline to the alarm's thread (p50)", if: hops)
        }
        + part("hop", "hop_lateness_ns", of: \.total.hop, "from there to the handler (µs)") {
            $0.column(.table, "p50 of (µs)", "hop", "from the alarm's thread to the handler (p50)", if: hops)
        }
        + part("interval-error", "interval_error_ns", of: \.total.intervalError, "interval error (µs)")

    private static let about = [
        "p50": "percentiles of lateness, from the deadline to the handler's first line", "max": "the latest tick",
        "corrected": "lateness of all deadlines: a missed deadline is late until the tick that carried it",
    ]

    /// Whether handlers run on another thread than the alarm's.
    private static let hops: @Sendable (Report) -> Bool = {
        $0.results.options.delivery != HandlerPlace.inline.rawValue
    }

    private static let jitter = [
        Figure("jitter.stddev", ["jitter_ns", "stddev"], .nanoseconds) { $0.lateness.moments.standardDeviation }
            .bounded()
            .column(.table, "lateness (µs)", "jitter", "standard deviation of the lateness")
            .column(.page, "lateness (µs)", "jitter"),
        Figure("jitter.p99-p50", ["jitter_ns", "p99_less_p50"], .nanoseconds) {
            $0.ticks < 100 ? nil : Double($0.lateness.percentile(99) - $0.lateness.percentile(50))
        }
        .bounded()
        .column(.details, "lateness (µs)", "p99 − p50"),
    ]

    private static let drift = [
        Figure("drift slope", ["drift", "ppm"], .partsPerMillion) { $0.drift?.ppm }
            .column(
                .table,
                "drift",
                "ppm ±",
                "µs of additional lateness per second, ± its noise; the noise alone if there is no more",
                if: { $0.rows.contains { $0.drift != nil } },
                text: { $0.drift?.words ?? "–" }
            )
            .column(.page, "drift (ppm)", "slope"),
        Figure("drift noise", ["drift", "noise_ppm"], .partsPerMillion) { $0.drift?.noise }
            .column(.page, "drift (ppm)", "± noise"),
        Figure("drift offset", ["drift", "end_offset_ns"], .nanoseconds) { $0.drift?.endOffset }
            .column(.details, "drift (µs)", "end offset"),
        // A drift below its noise was not seen.
        Figure("drift", [], .partsPerMillion) { row in
            row.drift.map { $0.ppm.magnitude > $0.noise ? $0.ppm.magnitude : 0 }
        }
        .bounded(),
        Figure("missed", [], .percent) { row in row.missedShare.map { 100 * $0 } }.bounded().compared(.total),
    ]

    private static let price = [
        Figure("cpu", ["cpu_percent"], .percent) { $0.cpuPercent }
            .bounded().compared(.total)
            .column(.table, "price", "CPU%", "processor time per elapsed time")
            .column(.page, "price", "CPU %"),
        Figure("wakeups", ["wakeups_per_tick"], .perTick) { Double($0.cost.wakeUps) / Double($0.ticks) }
            .bounded()
            .column(.table, "price", "wake", "wake-ups of threads, per tick")
            .column(.page, "per tick", "wake-ups"),
        Figure("switches", ["context_switches_per_tick"], .perTick) {
            Double($0.cost.contextSwitches) / Double($0.ticks)
        }
        .bounded()
        .column(.table, "price", "switch", "context switches, per tick")
        .column(.page, "per tick", "switches"),
        Figure("cut", ["cut_percent"], .percent) { row in row.cutShare.map { 100 * $0 } }
            .bounded()
            .column(
                .table,
                "price",
                "cut%",
                "deadlines before which the CPU budget shortened the spin, in percent",
                if: spins
            )
            .column(.page, "deadlines", "spin cut %", if: spins),
    ]

    /// Whether a row may spin.
    private static let spins: @Sendable (Report) -> Bool = { $0.rows.contains { $0.total.spin != nil } }

    private static let floor = [
        Figure("floor.p50", ["ratio_to_floor", "p50"], .timesFloor) { $0.floor50?.estimate }
            .bounded().compared(.byFloor(.p50))
            .column(
                .table,
                "× floor",
                "p50",
                "corrected lateness divided by floor-timerfd's in the same lap, and its p95 in the same round"
            )
            .column(.page, "× floor", "p50"),
        Figure("floor.p95", ["ratio_to_floor", "p95"], .timesFloor) { $0.floor95?.estimate }
            .bounded().compared(.byFloor(.p95))
            .column(.table, "× floor", "p95")
            .column(.page, "× floor", "p95"),
    ]

    /// The figures of a distribution.
    private static func spread(
        _ name: String,
        _ key: String,
        of distribution: @escaping @Sendable (RowReport) -> Distribution,
        compared: Set<String> = [],
        _ adding: (Figure, String) -> Figure
    ) -> [Figure] {
        members.map { member in
            // One stall of the host makes an extreme value, so no rule can be about it.
            let isExtreme = member.name == "min" || member.name == "max"
            let path = [key, member.name.filter { $0 != "." }]
            let figure = Figure("\(name).\(member.name)", path, .nanoseconds) { member.value(distribution($0)) }
                .bounded(!isExtreme)
                .compared(compared.contains(member.name) ? .total : .none)
            return adding(figure, member.name)
        }
    }

    /// The figures of a part of the lateness: two of them are details, and the median may also have other columns.
    private static func part(
        _ name: String,
        _ key: String,
        of part: @escaping @Sendable (RowReport) -> Distribution,
        _ group: String,
        median: (Figure) -> Figure = { $0 }
    ) -> [Figure] {
        spread(name, key, of: part) { figure, name in
            switch name {
            case "p50": median(figure.column(.details, group, name))
            case "p99": figure.column(.details, group, name)
            default: figure
            }
        }
    }

    private struct Member: Sendable {
        let name: String
        let value: @Sendable (Distribution) -> Double?
    }

    /// The percentiles of every distribution, in percent.
    private static let percents = [50, 90, 99, 99.9]

    private static let members =
        [Member(name: "min") { Double($0.moments.min) }]
        + percents.map { percent in
            let places = percent == percent.rounded() ? 0 : 1
            return Member(name: "p\(NumberText.fixed(percent, places: places))") { distribution in
                // One tick of fewer than a hundred is no 99th percentile, but the greatest value.
                let fewest = percent > 50 ? (100 / (100 - percent)).rounded() : 0
                return Double(distribution.moments.count) < fewest ? nil : Double(distribution.percentile(percent))
            }
        }
        + [Member(name: "max") { Double($0.moments.max) }, Member(name: "mean") { $0.moments.mean }]
}
