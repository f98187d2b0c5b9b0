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
