extension Array where Element == Double {
    /// The middle value, or the mean of the two middle values; nil if the array is empty.
    var median: Double? {
        guard !isEmpty else { return nil }
        let ordered = sorted()
        return (ordered[count / 2] + ordered[(count - 1) / 2]) / 2
    }
}
