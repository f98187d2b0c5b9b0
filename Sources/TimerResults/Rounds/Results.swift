/// Everything that was measured, round by round. Files keep it, and every table, page and rule is made from it.
package struct Results: Hashable, Sendable {
    /// The machines; several if results were merged.
    package internal(set) var hosts: [Host]
    /// In the order of time, one for each measurement.
    package internal(set) var origins: [Origin]
    package internal(set) var options: Options
    package internal(set) var remarks: [Remark]
    /// What was obtained of ``Options/system``, in that order.
    package internal(set) var grants: [Grant]
    /// In the order of time.
    package internal(set) var rounds: [Round]

    package init(
        hosts: [Host],
        origins: [Origin] = [],
        options: Options,
        remarks: [Remark] = [],
        grants: [Grant] = [],
        rounds: [Round]
    ) {
        self.hosts = hosts
        self.origins = origins
        self.options = options
        self.remarks = remarks
        self.grants = grants
        self.rounds = rounds
    }

    /// The number of complete laps.
    package var laps: Int { rounds.reduce(0) { $0 + $1.laps } }

    /// Whether laps are missing.
    package var isPartial: Bool { laps < options.laps }

    /// How many laps are missing, in a few words; nil if the results are complete.
    package var missingLaps: String? { isPartial ? "only \(laps) of \(options.laps) laps were completed" : nil }

    /// Notes when and by what the results were measured.
    package mutating func add(_ origin: Origin) { origins.append(origin) }

    /// Every measured row, in the order of the options. Rows that the options do not name come last, by name.
    package var keys: [RowKey] {
        let all = Set(rounds.flatMap { $0.cells.map(\.key) })
        let loads = Dictionary(options.loads.enumerated().map { ($1, $0) }) { first, _ in first }
        let rows = Dictionary(options.rows.enumerated().map { ($1, $0) }) { first, _ in first }
        return all.map { key in (place: (loads[key.load] ?? .max, rows[key.row] ?? .max, key.description), key: key) }
            .sorted { $0.place < $1.place }
            .map(\.key)
    }
}
