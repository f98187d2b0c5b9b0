/// Numbers in text. The decimal separator is always a point.
package enum NumberText {
    /// A number with a fixed count of digits after the point.
    package static func fixed(_ value: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        guard let scaled = Int64(exactly: (value.magnitude * scale).rounded()) else { return "–" }
        let digits = String(scaled)
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        let sign = value < 0 && scaled != 0 ? "-" : ""
        return sign + padded.dropLast(places) + (places > 0 ? "." : "") + padded.suffix(places)
    }

    /// The same, or a dash for nil.
    package static func fixed(_ value: Double?, places: Int) -> String {
        value.map { fixed($0, places: places) } ?? "–"
    }

    /// Nanoseconds as microseconds.
    package static func microseconds(_ nanoseconds: Double, places: Int = 1) -> String {
        fixed(nanoseconds / 1000, places: places)
    }
}
