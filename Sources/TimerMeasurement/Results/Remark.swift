/// Where something else was obtained than was asked for.
package struct Remark: Codable, Hashable, Sendable, CustomStringConvertible {
    /// What was asked for, as `--load cpu:8`.
    package let asked: String
    /// What came of it, as `8 threads on 2 processors`.
    package let obtained: String
    /// Why.
    package let reason: String

    package init(asked: String, obtained: String, reason: String) {
        self.asked = asked
        self.obtained = obtained
        self.reason = reason
    }

    /// One line.
    package var description: String { "\(asked): \(obtained), since \(reason)" }
}
