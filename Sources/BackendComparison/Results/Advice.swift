/// What follows from the figures, in a few sentences. A row that is named as earlier or later is so by its verdict.
extension Report {
    /// Each a sentence with its full stop: first those by p50, then those by p99. A conclusion that holds under several
    /// loads is one sentence.
    var advice: [String] {
        let found = loads.flatMap { load in Conclusion.all(of: self, under: load).map { ($0, [load]) } }
        var joined: [(conclusion: Conclusion, loads: [String])] = []
        for (conclusion, loads) in found {
            let both = joined.map { $0.conclusion.joined(with: conclusion) }
            if let place = both.firstIndex(where: { $0 != nil }), let conclusion = both[place] {
                joined[place] = (conclusion, joined[place].loads + loads)
            } else {
                joined.append((conclusion, loads))
            }
        }
        let kinds = [joined.filter { !$0.conclusion.isOfTails }, joined.filter(\.conclusion.isOfTails)]
        let isPlain = loads == [RowKey.idle]
        let remedy =
            results.machine.isBusy && found.contains { $0.0 != .tooFewLaps && $0.1 == [RowKey.idle] }
            ? ["The machine was busy: repeat when it is idle."] : []
        return kinds.joined()
            .map { conclusion, loads in
                if !isPlain { return "\(Self.words(for: loads).capitalizedFirst), \(conclusion.text)." }
                return (conclusion.isName ? conclusion.text : conclusion.text.capitalizedFirst) + "."
            } + remedy
    }

    /// `when idle and under busy and cpu:2`
    private static func words(for loads: [String]) -> String {
        let others = loads.filter { $0 != RowKey.idle }
        let parts = [loads.count > others.count ? "when idle" : nil, others.isEmpty ? nil : "under \(others.listed)"]
        return parts.compactMap(\.self).listed
    }
}

extension [String] {
    /// As English has it: `a`, `a and b`, `a, b and c`.
    var listed: String {
        count < 2 ? joined() : "\(dropLast().joined(separator: ", ")) and \(self[count - 1])"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
