/// What the rows obtained of an option that the system, or the row itself, may refuse.
package struct Grant: Codable, Hashable, Sendable {
    /// Some rows that did not obtain it.
    package struct Refusal: Codable, Hashable, Sendable {
        /// The rows' names.
        package internal(set) var rows: [String]
        /// Why, with the error of the system if it gave one.
        package let reason: String
        /// One sentence on what would help; nil if nothing would.
        package let advice: String?

        package init(rows: [String], reason: String, advice: String? = nil) {
            self.rows = rows
            self.reason = reason
            self.advice = advice
        }
    }

    /// What came of the option for one row.
    package enum Answer: Hashable, Sendable {
        case obtained
        case refused(reason: String, advice: String?)
        /// The option does not concern the row.
        case none
    }

    /// The option as on the command line: `--realtime fifo:80`.
    package let asked: String
    /// The names of the rows that obtained it.
    package private(set) var obtained: [String]
    /// The rows that did not, by reason.
    package private(set) var refused: [Refusal]

    package init(asked: String, obtained: [String], refused: [Refusal] = []) {
        self.asked = asked
        self.obtained = obtained
        self.refused = refused
    }

    /// Sums up the answers of the rows. Rows that were refused it for one reason stand together.
    package init(_ asked: String, _ answers: [(row: String, answer: Answer)]) {
        self.init(asked: asked, obtained: [])
        for (row, answer) in answers {
            switch answer {
            case .none: break
            case .obtained: add(Grant(asked: asked, obtained: [row]))
            case .refused(let reason, let advice):
                add(Grant(asked: asked, obtained: [], refused: [Refusal(rows: [row], reason: reason, advice: advice)]))
            }
        }
    }

    /// Whether a row obtained the option; nil if it did not ask for it.
    func isObtained(by row: String) -> Bool? {
        if obtained.contains(row) { return true }
        return refused.contains { $0.rows.contains(row) } ? false : nil
    }

    /// Adds the rows of a later measurement.
    mutating func add(_ later: Grant) {
        obtained += later.obtained.filter { !obtained.contains($0) }
        for more in later.refused {
            if let place = refused.firstIndex(where: { $0.reason == more.reason && $0.advice == more.advice }) {
                refused[place].rows += more.rows.filter { !refused[place].rows.contains($0) }
            } else {
                refused.append(more)
            }
        }
    }

    /// The same for rows with other names.
    func renamed(_ name: (String) -> String) -> Grant {
        Grant(
            asked: asked,
            obtained: obtained.map(name),
            refused: refused.map { Refusal(rows: $0.rows.map(name), reason: $0.reason, advice: $0.advice) }
        )
    }
}

extension [Grant] {
    /// Adds the grants of other rows, or of a later measurement.
    mutating func add(_ others: [Grant]) {
        for other in others {
            if let place = firstIndex(where: { $0.asked == other.asked }) {
                self[place].add(other)
            } else {
                append(other)
            }
        }
    }

    /// Why the figures of two measurements cannot be compared, in one line: a row obtained an option in one of them
    /// only. Nil if there is no such row.
    func difference(from others: [Grant]) -> String? {
        for grant in self {
            guard let other = others.first(where: { $0.asked == grant.asked }) else { continue }
            for row in grant.obtained + grant.refused.flatMap(\.rows) {
                guard let mine = grant.isObtained(by: row), let theirs = other.isObtained(by: row), mine != theirs
                else { continue }
                return "\(row) obtained \(grant.asked) in one of them only"
            }
        }
        return nil
    }
}

/// What was obtained of the system, in lines.
extension Results {
    /// What was obtained, in a few lines: one for all options that the same rows obtained.
    package var obtainedOptions: [String] {
        var groups: [(rows: [String], asked: [String])] = []
        for grant in grants where !grant.obtained.isEmpty {
            if let place = groups.firstIndex(where: { $0.rows == grant.obtained }) {
                groups[place].asked.append(grant.asked)
            } else {
                groups.append((grant.obtained, [grant.asked]))
            }
        }
        return groups.map { group in
            let others = options.rows.filter { !group.rows.contains($0) }
            let refused = Set(
                grants.filter { group.asked.contains($0.asked) }.flatMap { $0.refused.flatMap(\.rows) }
            )
            // Some options do not concern every row.
            let areRefused = others.count < group.rows.count && others.allSatisfy(refused.contains)
            let names =
                if others.isEmpty { "every row" } else if areRefused {
                    "every row but \(others.joined(separator: ", "))"
                } else { group.rows.joined(separator: ", ") }
            return "Obtained for \(names): \(group.asked.joined(separator: ", "))"
        }
    }

    /// The refused options as remarks: one for all options that were refused to the same rows for one reason.
    private var refusals: [Remark] {
        var groups: [(refusal: Grant.Refusal, asked: [String])] = []
        for grant in grants {
            for refusal in grant.refused {
                if let place = groups.firstIndex(where: { $0.refusal == refusal }) {
                    groups[place].asked.append(grant.asked)
                } else {
                    groups.append((refusal, [grant.asked]))
                }
            }
        }
        return groups.map { group in
            let advice = group.refusal.advice.map { ". \($0.hasSuffix(".") ? $0.dropLast() : $0[...])" } ?? ""
            return Remark(
                asked: group.asked.joined(separator: ", "),
                obtained: "nothing for \(group.refusal.rows.joined(separator: ", "))",
                reason: group.refusal.reason + advice
            )
        }
    }

    /// All differences between what was asked for and what was obtained: the remarks, the refused options, and the
    /// rows that could not spin.
    package var allRemarks: [Remark] {
        var obstacles: [Remark] = []
        for cell in rounds.lazy.flatMap(\.cells) {
            guard let obstacle = cell.spin?.obstacle else { continue }
            let remark = Remark(asked: "\(cell.key)", obtained: "no spinning", reason: obstacle)
            if !obstacles.contains(remark) { obstacles.append(remark) }
        }
        return remarks + refusals + obstacles
    }
}
