extension Results {
    /// The most laps: merged results never have more, and the sums of so many fit a number.
    package static let mostLaps = 100_000
    /// The most rows of a round: more cannot be compared with each other in reasonable time.
    package static let mostRows = 200

    /// Why a measurement cannot have made these results, for instance because their file is damaged; nil if it can.
    package var problem: String? {
        if rounds.isEmpty { return "has no rounds" }
        guard rounds.allSatisfy({ (0...Self.mostLaps).contains($0.laps) }), rounds.count <= Self.mostLaps else {
            return "has a round with an impossible number of laps"
        }
        let count = max(laps, options.laps)
        if count > Self.mostLaps { return "has \(count) laps, and \(Self.mostLaps) are the most" }
        if hosts.count > rounds.count { return "has more hosts than rounds" }
        if let most = rounds.map(\.cells.count).max(), most > Self.mostRows {
            return "has a round of \(most) rows, and \(Self.mostRows) are the most"
        }
        if !rounds.allSatisfy({ hosts.indices.contains($0.host) }) {
            return "has rounds on a host that it does not name"
        }
        if rounds.contains(where: { Set($0.cells.map(\.key)).count < $0.cells.count }) {
            return "has a round that measured one row twice"
        }
        if let cell = rounds.lazy.flatMap(\.cells).first(where: { !$0.isSound }) {
            return "has counts of \(cell.key) that contradict each other"
        }
        guard rounds.lazy.flatMap(\.cells).reduce(0, { $0 + $1.counts }) < 0x1p60 else {
            return "has counts that are too great to add up"
        }
        if options.period == 0 || options.timers < 1 || options.laps < 1 { return "has options that make no sense" }
        return texts.allSatisfy(\.isOneLine) ? nil : "has a name or remark that is not a plain line of text"
    }

    /// Every text that is shown unchanged.
    private var texts: [String] {
        hosts.flatMap {
            [$0.system, $0.kernel, $0.machine, $0.cpu, $0.clockSource, $0.governor].compactMap(\.self)
        }
            + origins.flatMap { [$0.date, $0.version, $0.commit ?? ""] }
            + remarks.flatMap { [$0.asked, $0.obtained, $0.reason] }
            + [options.delivery, options.clock] + options.rows + options.loads + (options.system ?? [])
            + grants.flatMap(\.texts)
            + rounds.flatMap { round in
                round.disturbances
                    + round.cells.flatMap { [$0.key.row, $0.key.load, $0.problem ?? "", $0.spin?.obstacle ?? ""] }
            }
    }
}

extension Grant {
    fileprivate var texts: [String] {
        [asked] + obtained + refused.flatMap { $0.rows + [$0.reason, $0.advice ?? ""] }
    }
}

extension String {
    /// Whether a terminal shows the text in one line and obeys nothing in it.
    fileprivate var isOneLine: Bool {
        unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }
}
