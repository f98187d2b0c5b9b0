extension FormRow {
    /// A row that sees some facts, each under the label of its argument, or under those of several.
    package init(_ name: String, _ part: String = "(", facts: [String: String]) {
        self.init(name, part, sees: Set(facts.keys.flatMap { $0.split(separator: " ").map(String.init) }))
    }
}
