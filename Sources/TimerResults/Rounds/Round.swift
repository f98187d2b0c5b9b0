/// Some laps, one after the other. In a lap each row has one turn, in random order.
///
/// The middle of the lateness is compared lap by lap. A tail takes more ticks than a turn has, so it is compared round
/// by round: a round has as many laps as give each row a hundred deadlines.
package struct Round: Codable, Hashable, Sendable {
    /// The deadlines of a row that make a round.
    package static let fewestDeadlines = 100

    /// The index of the host in the results.
    package internal(set) var host: Int
    /// How the machine disturbed the round, one line each. A disturbed round counts all the same.
    package let disturbances: [String]
    /// The number of laps.
    package let laps: Int
    /// Whether every row had a turn in each lap.
    package let isComplete: Bool
    /// One cell for each row, in the order of the table.
    package let cells: [Cell]

    package init(host: Int = 0, disturbances: [String] = [], laps: Int, isComplete: Bool = true, cells: [Cell]) {
        self.host = host
        self.disturbances = disturbances
        self.laps = laps
        self.isComplete = isComplete
        self.cells = cells
    }

    private enum CodingKeys: String, CodingKey {
        case host
        case disturbances
        case laps
        case isComplete = "complete"
        case cells
    }

    /// The cell of a row; nil if the round does not have the row.
    package subscript(key: RowKey) -> Cell? { cells.first { $0.key == key } }
}
