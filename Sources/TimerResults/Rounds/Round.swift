/// All rows once, measured in short turns.
package struct Round: Codable, Hashable, Sendable {
    /// The index of the host in the results.
    package internal(set) var host: Int
    /// How the machine disturbed the round, one line each. A disturbed round counts all the same.
    package let disturbances: [String]
    /// Whether every row had all its turns.
    package let isComplete: Bool
    /// One cell for each row, in the order of the table.
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

    /// The cell of a row; nil if the round does not have the row.
    package subscript(key: RowKey) -> Cell? { cells.first { $0.key == key } }
}
