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

    /// What was measured, in the order of the table.
    package var cases: [Case] {
        var seen: Set<Case> = []
        return rounds.flatMap { $0.cells.map(\.case) }.filter { seen.insert($0).inserted }
    }

    /// The row that every other's lateness is given as a multiple of.
    package static let floor = "floor-timerfd"
}
