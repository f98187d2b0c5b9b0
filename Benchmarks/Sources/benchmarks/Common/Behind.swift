/// Sentences about rows that are behind another side, or far from a floor. A row that is not has no sentence.
enum Behind {
    /// A ratio above which a row is behind a side that does the same. Below it, the rounds differ more.
    static let peer = 1.05
    /// A ratio above which a row is far from a floor.
    static let floor = 2.0

    /// A row's name and its ratio to the reference; nil if they do not compare.
    typealias Row = (name: String, ratio: Double?)

    /// One sentence for all rows whose ratio is above a limit: “pair” 9.02 ×, “schedule” 7.90 × the C heap, and why.
    /// Nil if there is no such row.
    static func remark(_ rows: [Row], above limit: Double, _ reference: String, _ why: String) -> String? {
        let behind = rows.compactMap { row in row.ratio.flatMap { $0 > limit ? "“\(row.name)” \($0.short) ×" : nil } }
        if behind.isEmpty { return nil }
        return "\(behind.joined(separator: ", ")) \(reference)" + (why.isEmpty ? "." : ": \(why).")
    }
}
