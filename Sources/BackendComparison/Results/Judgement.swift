/// A need held against a report. A figure meets a bound only with its whole interval, and fails it only with its whole
/// interval; otherwise the measurement is too short to say.
struct Judgement: Codable, Hashable, Sendable {
    /// From the best to the worst.
    enum Outcome: String, CaseIterable, Codable, Comparable, Sendable {
        case meets, undecided, fails

        static func < (first: Outcome, second: Outcome) -> Bool {
            first != second && allCases.first { [first, second].contains($0) } == first
        }

        /// The exit code of the command.
        var exitCode: Int32 {
            switch self {
            case .meets: 0
            case .fails: 1
            case .undecided: 4
            }
        }

        var words: String {
            switch self {
            case .meets: "met"
            case .undecided: "undecided"
            case .fails: "not met"
            }
        }
    }

    /// A row, held against all conditions that are about it.
    struct Finding: Codable, Hashable, Sendable {
        let row: String
        let load: String
        let outcome: Outcome
        /// What was measured, and what is missing to a decision.
        let reason: String

        /// The row's name in needs, as `timerfd@cpu:2`.
        var name: String { RowKey.name(row, under: load) }
    }

    /// The need's text.
    let need: String
    let findings: [Finding]
    /// Conditions without a row are met if one backend meets them all, under every load. Those with a row must be met
    /// by that row.
    let outcome: Outcome

    private enum CodingKeys: String, CodingKey {
        case need, outcome
        case findings = "rows"
    }
}
