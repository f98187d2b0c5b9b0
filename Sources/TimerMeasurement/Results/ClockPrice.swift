internal import TimerAlarms
internal import TimerCore

/// What it costs to read the clock: the least that any measurement of time adds to what it measures.
enum ClockPrice {
    private static let batches = 9
    private static let readings = 1000

    /// Nanoseconds of one reading: the median of some batches, each long enough to be timed.
    static var current: Double {
        let prices = (0..<batches)
            .map { _ in
                let start = KernelClock.now(.suspending).nanoseconds
                for _ in 1..<readings { _ = KernelClock.now(.suspending) }
                return Double(KernelClock.now(.suspending).nanoseconds - start) / Double(readings)
            }
        return prices.sorted()[batches / 2]
    }
}
