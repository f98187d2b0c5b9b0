/// All cases once, measured in short turns with each other.
package struct Round: Codable, Hashable, Sendable {
    /// Which of the results' hosts it was measured on, counted from 0.
    package internal(set) var host: Int
    /// Why it is marked as disturbed, one line each; empty where it is not. It counts all the same.
    package let disturbances: [String]
    /// Whether every case had all its turns.
    package let isComplete: Bool
    /// What was measured, in the order of the table.
    package let cells: [Cell]

    package init(host: Int = 0, disturbances: [String] = [], isComplete: Bool = true, cells: [Cell]) {
        self.host = host
        self.disturbances = disturbances
        self.isComplete = isComplete
        self.cells = cells
    }

    private enum CodingKeys: String, CodingKey {
        case host
        case disturbances
        case isComplete = "complete"
        case cells
    }

    /// The cell of a case.
    package subscript(case: Case) -> Cell? { cells.first { $0.case == `case` } }
}
