/// The sums behind a line through points of time and lateness, fitted by least squares.
///
/// They are exact, and wrap around: a line needs only their distances from the means.
struct LineSums {
    /// The number of points.
    private var count: Int128 = 0
    // Sums over the points of the time, the lateness, their squares and their product.
    private var times: Int128 = 0
    private var latenesses: Int128 = 0
    private var squaredTimes: Int128 = 0
    private var squaredLatenesses: Int128 = 0
    private var products: Int128 = 0

    /// Adds a point. Constant time.
    mutating func add(time: Int128, lateness: Int128) {
        count &+= 1
        times &+= time
        latenesses &+= lateness
        squaredTimes &+= time &* time
        squaredLatenesses &+= lateness &* lateness
        products &+= time &* lateness
    }

    /// The line's slope, and the square of the slope's standard error if the points are independent; nil for fewer than
    /// three points, or if all are of one time.
    var line: (slope: Double, variance: Double)? {
        guard count > 2 else { return nil }
        let spread = spreads
        guard spread.ofTimes > 0 else { return nil }
        let slope = spread.together / spread.ofTimes
        let residuals = max(spread.ofLatenesses - slope * spread.together, 0)
        return (slope, residuals / Double(count - 2) / spread.ofTimes)
    }

    /// The sums of the squares and the products of the distances from the means.
    private var spreads: (ofTimes: Double, ofLatenesses: Double, together: Double) {
        // The means are subtracted exactly: great latenesses may differ little.
        let (time, ofTime) = times.quotientAndRemainder(dividingBy: count)
        let (lateness, ofLateness) = latenesses.quotientAndRemainder(dividingBy: count)
        let (number, restOfTime, restOfLateness) = (Double(count), Double(ofTime), Double(ofLateness))
        let squaresOfTime = squaredTimes &- 2 &* time &* times &+ count &* time &* time
        let squaresOfLateness = squaredLatenesses &- 2 &* lateness &* latenesses &+ count &* lateness &* lateness
        let both = products &- time &* latenesses &- lateness &* times &+ count &* time &* lateness
        return (
            Double(squaresOfTime) - restOfTime * restOfTime / number,
            Double(squaresOfLateness) - restOfLateness * restOfLateness / number,
            Double(both) - restOfTime * restOfLateness / number
        )
    }
}
