/// Everything that was measured, round by round. Files keep it, and every table, page and rule is made from it.
package struct Results: Hashable, Sendable {
    /// The machines; several if results were merged.
    package internal(set) var hosts: [Host]
    package internal(set) var options: Options
    package internal(set) var remarks: [Remark]
    /// In the order of time.
    package internal(set) var rounds: [Round]

    package init(hosts: [Host], options: Options, remarks: [Remark] = [], rounds: [Round]) {
        self.hosts = hosts
        self.options = options
        self.remarks = remarks
        self.rounds = rounds
    }

    /// Whether rounds are missing, or turns of the last round.
    package var isPartial: Bool { rounds.count < options.rounds || !rounds.allSatisfy(\.isComplete) }

    /// Which rounds are missing, in a few words; nil if the results are complete.
    package var missingRounds: String? {
        guard isPartial else { return nil }
        let incomplete = rounds.count { !$0.isComplete }
        let begun = rounds.count < options.rounds ? "only \(rounds.count) of \(options.rounds) rounds were begun" : nil
        let ended =
            incomplete == 0 ? nil : incomplete == 1 ? "one round is incomplete" : "\(incomplete) rounds are incomplete"
        return [begun, ended].compactMap(\.self).joined(separator: ", and ")
    }

    /// Every measured row, in the order of the options. Rows that the options do not name come last, by name.
    package var keys: [RowKey] {
        let all = Set(rounds.flatMap { $0.cells.map(\.key) })
        let loads = Dictionary(options.loads.enumerated().map { ($1, $0) }) { first, _ in first }
        let rows = Dictionary(options.rows.enumerated().map { ($1, $0) }) { first, _ in first }
        return all.map { key in (place: (loads[key.load] ?? .max, rows[key.row] ?? .max, key.description), key: key) }
            .sorted { $0.place < $1.place }
            .map(\.key)
    }

    /// The results of one round alone.
    func round(_ number: Int) -> Results { Results(hosts: hosts, options: options, rounds: [rounds[number]]) }
}
