/// How many timers of a service a sweep covers at most: enough for each timer to have its turn in one of the next four
/// sweeps, however many timers end meanwhile, if the sweeps' budget suffices. A pure value.
package struct SweepQuota: Sendable {
    /// The least quota, unless there are fewer timers.
    private static var least: Int { 4_096 }

    /// The numbers of timers at the last four sweeps, the latest first.
    private var counts = SIMD4<Int>()

    package init() {}

    /// Decides on the next sweep. A quarter of the present number alone would shrink with each sweep that ends timers:
    /// the last of a million would wait for some 20 sweeps. Constant time.
    ///
    /// - Parameter count: the number of timers.
    /// - Returns: the quota of the sweep.
    package mutating func next(of count: Int) -> Int {
        counts = SIMD4(count, counts.x, counts.y, counts.z)
        return min(count, max(Self.least, (counts.max() + 3) / 4))
    }
}
