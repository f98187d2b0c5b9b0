/// Results put together: of one question, or laps of two builds.
extension Results {
    /// Merges results of one question, of one host or several. All rounds stand side by side, so every percentile is
    /// one of all ticks together, and never a mean of percentiles.
    ///
    /// - Parameter results: at least one.
    /// - Returns: the hosts and rounds of all.
    /// - Throws: `Problem` if the results answer different questions.
    package static func merged(_ results: [Results]) throws(Problem) -> Results {
        guard var merged = results.first else { throw Problem("there is nothing to merge") }
        for other in results.dropFirst() {
            if let difference = merged.options.difference(from: other.options) {
                throw Problem("they answer different questions: \(difference)")
            }
            guard merged.options.turn == other.options.turn else {
                let turns = [merged, other].map { DurationText.format(nanoseconds: $0.options.turn) }
                throw Problem("their turns are not equally long: \(turns[0]) and \(turns[1])")
            }
            guard merged.options.lateThreshold == other.options.lateThreshold else {
                throw Problem("they explain the ticks from different latenesses on, or only some of them explain any")
            }
            if let difference = merged.grants.difference(from: other.grants) { throw Problem(difference) }
            guard Set(merged.rounds.map(\.cells)).isDisjoint(with: other.rounds.map(\.cells)) else {
                throw Problem("they are the same measurement, or share a part of it")
            }
            merged.add(other)
            // A file with a problem could not be read again.
            if let problem = merged.problem { throw Problem("together it \(problem)") }
        }
        return merged
    }

    private mutating func add(_ other: Results) {
        let places = other.hosts.map { host in
            if let known = hosts.firstIndex(where: { $0.isSame(as: host) }) { return known }
            hosts.append(host)
            return hosts.count - 1
        }
        rounds += other.rounds.map { round in
            var round = round
            round.host = places[round.host]
            return round
        }
        origins += other.origins
        options.laps += other.options.laps
        options.rows += other.options.rows.filter { !options.rows.contains($0) }
        options.loads += other.options.loads.filter { !options.loads.contains($0) }
        remarks += other.remarks.filter { !remarks.contains($0) }
        grants.add(other.grants)
    }
}

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
