/// Count, extremes, mean and standard deviation of a series, without keeping it.
///
/// Mean and squares are updated by each value's distance from the mean (B. P. Welford, "Note on a method for
/// calculating corrected sums of squares and products", 1962), so that no large sums cancel.
package struct Moments: Codable, Hashable, Sendable {
    package private(set) var count = 0
    /// The least value; 0 without values.
    package private(set) var min: Int64 = 0
    /// The greatest value; 0 without values.
    package private(set) var max: Int64 = 0
    /// The mean; 0 without values.
    package private(set) var mean = 0.0
    /// The sum of the squared distances from the mean.
    private var squares = 0.0

    private enum CodingKeys: String, CodingKey {
        case count
        case min
        case max
        case mean
        case squares = "squared_distances"
    }

    package init() {}

    /// Adds a value. Constant time.
    package mutating func add(_ value: Int64) {
        min = count == 0 ? value : Swift.min(min, value)
        max = count == 0 ? value : Swift.max(max, value)
        count += 1
        let distance = Double(value) - mean
        mean += distance / Double(count)
        squares += distance * (Double(value) - mean)
    }

    /// Adds another series, as if its values had been added here. Constant time.
    package mutating func add(_ other: Moments) {
        guard other.count > 0 else { return }
        guard count > 0 else {
            self = other
            return
        }
        min = Swift.min(min, other.min)
        max = Swift.max(max, other.max)
        let (here, there) = (Double(count), Double(other.count))
        let distance = other.mean - mean
        mean += distance * there / (here + there)
        squares += other.squares + distance * distance * here * there / (here + there)
        count += other.count
    }

    /// Whether a series can have these moments. Moments from a file may be damaged.
    var isSound: Bool {
        // Rounding can put the mean of equal values beyond them.
        let slack = 1e-6 * Double(Swift.max(min.magnitude, max.magnitude))
        return count >= 0 && min <= max && squares >= 0 && squares.isFinite
            && (Double(min) - slack...Double(max) + slack).contains(mean)
    }

    /// The standard deviation of the values themselves; 0 without values.
    package var standardDeviation: Double { count == 0 ? 0 : (squares / Double(count)).squareRoot() }
}
