/// A difference between what was asked for and what was obtained.
package struct Remark: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The request, as `--load cpu:8`.
    package let asked: String
    /// The result, as `8 threads on 2 processors`.
    package let obtained: String
    /// The reason for the difference.
    package let reason: String

    package init(asked: String, obtained: String, reason: String) {
        self.asked = asked
        self.obtained = obtained
        self.reason = reason
    }

    /// One line.
    package var description: String { "\(asked): \(obtained), since \(reason)" }
}
