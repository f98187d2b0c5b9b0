import ArgumentParser

/// The longest time of a call to a service under each load.
struct Stall: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "The longest time that any call takes while a million timers fire, grow, are listed, or end."
    )
    static let heading = "Stalls: the longest wait of any call"

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var seen: [StallRow: [Column: Figures]] = [:]
        for round in options.rounds(with: options.many) {
            for row in StallRow.allCases {
                progress("stall: round \(round + 1): \(row.rawValue)")
                let (reading, extra) = try row.measure(options.many)
                for (column, figure) in figures(reading, extra) {
                    seen[row, default: [:]][column, default: Figures()].values.append(figure)
                }
            }
        }
        return [calls(seen, options), lateness(seen), extras(seen)]
    }

    /// The figures of a row.
    private enum Column {
        case longest
        case control
        case high
        case controlHigh
        case middleLateness
        case highLateness
        case longestLateness
        case calm
        case extra
    }

    private static func figures(_ reading: Scene.Reading, _ extra: Double) -> [Column: Double] {
        let (own, control) = (reading.calls.own, reading.calls.control)
        var figures: [Column: Double] = [
            .longest: Double(own.longest),
            .control: Double(control.longest),
            .high: own.percentile(0.9999),
            .controlHigh: control.percentile(0.9999),
            .calm: reading.calm.percentile(0.99),
            .extra: extra,
        ]
        if reading.lateness.count > 0 {
            figures[.middleLateness] = reading.lateness.percentile(0.5)
            figures[.highLateness] = reading.lateness.percentile(0.99)
            figures[.longestLateness] = Double(reading.lateness.longest)
        }
        return figures
    }

    private static func calls(_ seen: [StallRow: [Column: Figures]], _ options: Options) -> Table {
        var table = Table(
            title: "Longest schedule or cancel, N = \(grouped(options.many)); × calls to another service meanwhile",
            columns: ["", "longest", "control", "p99.99", "control p99.99", "asked"],
            remarks: [
                "The control's calls alternate with the others in the same thread: its wait is the machine's noise."
            ]
        )
        for row in StallRow.allCases {
            guard let figures = seen[row] else { continue }
            let cells = [
                figures[.longest]?.text(.time, against: figures[.control]), figures[.control]?.text(.time),
                figures[.high]?.text(.time, against: figures[.controlHigh]), figures[.controlHigh]?.text(.time),
            ]
            table.rows.append([row.rawValue] + cells.map { $0 ?? "–" } + ["≤ 1 ms"])
        }
        return table
    }

    private static func lateness(_ seen: [StallRow: [Column: Figures]]) -> Table {
        var table = Table(
            title: "Lateness of a 1 ms timer on the same service meanwhile; × its p99 without the load",
            columns: ["", "p99", "p99 without", "p50", "longest"]
        )
        for row in StallRow.allCases {
            guard let figures = seen[row], let high = figures[.highLateness] else { continue }
            let others = [Column.calm, .middleLateness, .longestLateness].map { figures[$0]?.text(.time) ?? "–" }
            table.rows.append([row.rawValue, high.text(.time, against: figures[.calm])] + others)
        }
        return table
    }

    private static func extras(_ seen: [StallRow: [Column: Figures]]) -> Table {
        let rows = StallRow.allCases.map { row in
            [row.rawValue, row.extra.name, seen[row]?[.extra]?.text(row.extra.unit) ?? "–", row.extra.asked]
        }
        return Table(title: "What was done meanwhile", columns: ["", "measured", "figure", "asked"], rows: rows)
    }
}
