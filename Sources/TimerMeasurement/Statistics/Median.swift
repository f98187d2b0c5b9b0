extension Array where Element == Double {
    /// The middle value, or the mean of the two in the middle; nil where there are none.
    var median: Double? {
        guard !isEmpty else { return nil }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}
