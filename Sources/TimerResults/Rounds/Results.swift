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

/// When, how long and by what a measurement was made. Merged results have several.
package struct Origin: Codable, Hashable, Sendable {
    /// The beginning, in universal time, as `2026-05-01T12:00:00Z`.
    package let date: String
    /// The seconds that it took.
    package let seconds: Double
    /// The version of compare-backends.
    package let version: String
    /// The commit of its sources; nil if it was built from no checkout.
    package let commit: String?

    package init(date: String, seconds: Double, version: String, commit: String?) {
        self.date = date
        self.seconds = seconds
        self.version = version
        self.commit = commit
    }

    /// One line.
    package var summary: String {
        let source = commit.map { ", commit \($0.prefix(10))" } ?? ""
        return "\(date), \(NumberText.fixed(seconds, places: 0)) s, version \(version)\(source)"
    }
}

/// A difference between what was asked for and what was obtained.
package struct Remark: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The request, as `--load cpu:8`.
    package let asked: String
    /// The result, as `8 threads on 2 processors`.
    package let obtained: String
    /// The reason for the difference.
    package let reason: String

    package init(asked: String, obtained: String, reason: String) {
        self.asked = asked
        self.obtained = obtained
        self.reason = reason
    }

    /// One line.
    package var description: String { "\(asked): \(obtained), since \(reason)" }
}

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
        var texts = options.rows + options.loads + (options.system ?? [])
        texts += [options.delivery, options.clock]
        for host in hosts {
            let facts: [String?] = [host.system, host.kernel, host.machine, host.cpu, host.clockSource, host.governor]
            texts += facts.compactMap(\.self)
        }
        for origin in origins { texts += [origin.date, origin.version, origin.commit ?? ""] }
        for remark in remarks { texts += [remark.asked, remark.obtained, remark.reason] }
        for grant in grants { texts += grant.texts }
        for round in rounds {
            texts += round.disturbances
            for cell in round.cells {
                texts += [cell.key.row, cell.key.load, cell.problem ?? "", cell.spin?.obstacle ?? ""]
            }
        }
        return texts
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
