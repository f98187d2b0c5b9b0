/// When, how long and by what a measurement was made. Merged results have several.
package struct Origin: Codable, Hashable, Sendable {
    /// The beginning, in universal time, as `2026-05-01T12:00:00Z`.
    package let date: String
    /// The seconds that it took.
    package let seconds: Double
    /// The version of compare-backends.
    package let version: String
    /// The commit of its sources; nil if it was built from no checkout.
    package let commit: String?

    package init(date: String, seconds: Double, version: String, commit: String?) {
        self.date = date
        self.seconds = seconds
        self.version = version
        self.commit = commit
    }

    /// One line.
    package var summary: String {
        let source = commit.map { ", commit \($0.prefix(10))" } ?? ""
        return "\(date), \(NumberText.fixed(seconds, places: 0)) s, version \(version)\(source)"
    }
}
