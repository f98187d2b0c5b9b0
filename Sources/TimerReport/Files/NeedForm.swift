internal import TimerResults

/// A need in a file of JSON, and whether the rows gave it. It keeps what was said after the measurement, although the
/// figures are made anew: the earlier file that a need names may be another one now.
struct NeedForm: Codable {
    let need: String
    let outcome: Judgement.Outcome
    let rows: [Row]

    struct Row: Codable {
        let row: String
        let load: String
        let outcome: Judgement.Outcome
        let reason: String
    }

    init(_ judgement: Judgement) {
        (need, outcome) = (judgement.need, judgement.outcome)
        rows = judgement.findings.map {
            Row(row: $0.row, load: $0.load, outcome: $0.outcome, reason: $0.reason)
        }
    }

    var judgement: Judgement {
        let findings = rows.map {
            Judgement.Finding(row: $0.row, load: $0.load, outcome: $0.outcome, reason: $0.reason)
        }
        return Judgement(need: need, findings: findings, outcome: outcome)
    }
}
