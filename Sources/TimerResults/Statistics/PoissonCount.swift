internal import Foundation

/// How many events can be expected if so many were seen (F. Garwood, "Fiducial limits for the Poisson distribution",
/// 1936).
enum PoissonCount {
    /// The means at which so many events or more, or so many or fewer, are as rare as ``SignedRank/confidence`` leaves
    /// open at each end: 0 to 5.3 for none.
    static func interval(of count: Int) -> ClosedRange<Double> {
        let rare = (1 - SignedRank.confidence) / 2
        let low = count == 0 ? 0 : mean { chance(ofAtMost: count - 1, mean: $0) >= 1 - rare }
        return low...mean { chance(ofAtMost: count, mean: $0) >= rare }
    }

    /// The greatest mean of which something holds that holds of the lower ones only.
    private static func mean(_ holds: (Double) -> Bool) -> Double {
        var (low, high) = (0.0, 1.0)
        while holds(high) { high *= 2 }
        // As near as a floating-point number can be.
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if holds(middle) { low = middle } else { high = middle }
        }
        return low
    }

    private static func chance(ofAtMost count: Int, mean: Double) -> Double {
        var (term, sum) = (exp(-mean), exp(-mean))
        for number in 0..<count {
            term *= mean / Double(number + 1)
            sum += term
        }
        return sum
    }
}
