/// One lap that two builds of the command measured, each in a process of its own.
package struct LapOfBuilds: Sendable {
    package let this: Results
    package let other: Results

    /// - Throws: `Problem` if the other build answers another question, or was built in another way.
    package init(this: Results, other: Results) throws(Problem) {
        if let difference = this.options.difference(from: other.options) {
            throw Problem("the other build measures something else: \(difference)")
        }
        if let difference = this.hostDifference(from: other) {
            throw Problem("the two builds do not measure under the same conditions: \(difference)")
        }
        self.this = this
        self.other = other
    }
}

extension LapOfBuilds {
    /// What the rows of both builds obtained.
    package var grants: [Grant] {
        var grants = this.grants
        grants.add(other.grants.map { $0.renamed { RowKey.other + $0 } })
        return grants
    }
}

extension Round {
    /// A round of laps of two builds. The other build's rows become peers of this build's.
    package init(of laps: [LapOfBuilds]) {
        let cells = laps.flatMap { lap in
            lap.this.rounds.flatMap(\.cells)
                + lap.other.rounds.flatMap(\.cells).map { $0.renamed(RowKey.other + $0.key.row, .peer) }
        }
        self.init(
            disturbances: laps.flatMap { ($0.this.rounds + $0.other.rounds).flatMap(\.disturbances) },
            laps: laps.count,
            cells: cells.reduce(into: [Cell]()) { sums, cell in
                if let place = sums.firstIndex(where: { $0.key == cell.key }) {
                    sums[place].add(cell)
                } else {
                    sums.append(cell)
                }
            }
        )
    }
}
