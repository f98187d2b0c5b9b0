/// Several results as one: all their rounds side by side, so that every percentile is one of all ticks together, and never a
/// mean of percentiles.
package enum Merging {
    /// Why results cannot be merged.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        /// One line.
        package let description: String
    }

    /// Merges results of the same question, of one host or several.
    ///
    /// - Parameter results: at least one.
    /// - Returns: the hosts and rounds of all.
    /// - Throws: `Problem` where they answer different questions.
    package static func merge(_ results: [Results]) throws(Problem) -> Results {
        guard var merged = results.first else { throw Problem(description: "there is nothing to merge") }
        for other in results.dropFirst() {
            if let difference = merged.options.difference(from: other.options) {
                throw Problem(description: "they answer different questions: \(difference)")
            }
            guard merged.options.duration == other.options.duration else {
                let durations = [merged, other].map { DurationText.format(nanoseconds: $0.options.duration) }
                throw Problem(description: "their rounds are not equally long: \(durations[0]) and \(durations[1])")
            }
            merged.add(other)
            // What could not be read again is not written.
            if let flaw = merged.flaw { throw Problem(description: "together it \(flaw)") }
        }
        return merged
    }
}

extension Results {
    fileprivate mutating func add(_ other: Results) {
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
        options.rounds += other.options.rounds
        options.rows += other.options.rows.filter { !options.rows.contains($0) }
        options.loads += other.options.loads.filter { !options.loads.contains($0) }
        remarks += other.remarks.filter { !remarks.contains($0) }
    }
}

extension Options {
    /// In what two questions differ that makes their answers incomparable, in a line; nil where they do not.
    package func difference(from other: Options) -> String? {
        if period != other.period {
            return "a period of \(DurationText.format(nanoseconds: period)) and one of "
                + DurationText.format(nanoseconds: other.period)
        }
        if timers != other.timers { return "\(timers) timers and \(other.timers)" }
        if delivery != other.delivery { return "handlers delivered \(delivery) and \(other.delivery)" }
        if clock != other.clock { return "the \(clock) clock and the \(other.clock) one" }
        return nil
    }
}
