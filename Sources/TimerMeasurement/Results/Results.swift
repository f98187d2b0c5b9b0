/// All that was measured, round by round: what is saved, and what every table, page and rule is made from.
package struct Results: Hashable, Sendable {
    /// The machines, more than one where results were merged.
    package internal(set) var hosts: [Host]
    /// What was asked for.
    package internal(set) var options: Options
    /// Where something else was obtained.
    package internal(set) var remarks: [Remark]
    /// One after the other, in time.
    package internal(set) var rounds: [Round]

    package init(hosts: [Host], options: Options, remarks: [Remark] = [], rounds: [Round]) {
        self.hosts = hosts
        self.options = options
        self.remarks = remarks
        self.rounds = rounds
    }

    /// Whether rounds are lacking, or turns of the last one.
    package var isPartial: Bool { rounds.count < options.rounds || !rounds.allSatisfy(\.isComplete) }

    /// How many rounds are lacking, in a few words; nil where none is.
    package var lack: String? {
        guard isPartial else { return nil }
        let incomplete = rounds.count { !$0.isComplete }
        let begun = rounds.count < options.rounds ? "only \(rounds.count) of \(options.rounds) rounds were begun" : nil
        let ended =
            incomplete == 0 ? nil : incomplete == 1 ? "one round is incomplete" : "\(incomplete) rounds are incomplete"
        return [begun, ended].compactMap(\.self).joined(separator: ", and ")
    }

    /// What was measured, in the order that it was asked for.
    package var cases: [Case] {
        let all = Set(rounds.flatMap { $0.cells.map(\.case) })
        let loads = Dictionary(options.loads.enumerated().map { ($1, $0) }) { first, _ in first }
        let rows = Dictionary(options.rows.enumerated().map { ($1, $0) }) { first, _ in first }
        return
            all.map { `case` in
                // What nobody asked for comes last, by its name.
                (place: (loads[`case`.load] ?? .max, rows[`case`.row] ?? .max, `case`.description), case: `case`)
            }
            .sorted { $0.place < $1.place }
            .map(\.case)
    }

    /// The row that every other's lateness is given as a multiple of.
    package static let floor = "floor-timerfd"
}
