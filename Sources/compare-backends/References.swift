internal import TimerMeasurement

/// The references that are measured.
enum References {
    /// What there is: cyclictest only where it is installed.
    static var available: [Row] {
        Reference.allCases.map { Row(.reference($0)) } + (Cyclictest.path == nil ? [] : [Row(.referee)])
    }

    /// The value of --references: names with commas between them, or none.
    static func parse(_ text: String) throws -> [Row] {
        if text == "none" { return [] }
        return try text.split(separator: ",", omittingEmptySubsequences: false)
            .map { name in
                guard let row = available.first(where: { $0.name == name }) else {
                    throw BadValue(
                        description: "the references are none or \(available.map(\.name).joined(separator: ", "))"
                    )
                }
                return row
            }
    }
}
