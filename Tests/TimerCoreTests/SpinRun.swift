import PreciseTimer

/// A thread that waits for deadlines as its plan decides, in virtual time. All lengths are in nanoseconds.
struct SpinRun {
    /// A stretch of spinning.
    struct Spin {
        let start: UInt64
        let end: UInt64
    }

    private(set) var plan: SpinPlan
    private(set) var now: UInt64
    /// Every spin, in the order of time.
    private(set) var spins: [Spin] = []
    /// How late each deadline was served.
    private(set) var lateness: [UInt64] = []

    init(maximum: UInt64 = 100_000, budget: Double = 0.1, start: UInt64 = 1_000_000_000_000) {
        plan = SpinPlan(maximum: maximum, budget: budget)
        now = start
    }

    /// The margin before a deadline after some time, by default a millisecond.
    func nextMargin(in time: UInt64 = 1_000_000) -> UInt64 {
        var plan = plan
        return plan.margin(before: now + time)
    }

    /// Waits for a deadline. The kernel wakes the thread late by `wakeUp`.
    mutating func wait(for deadline: UInt64, wakeUp: UInt64) {
        let alarm = deadline - plan.margin(before: deadline)
        var wait = SpinPlan.Wait(alarm: alarm > now ? alarm : nil, woke: alarm > now ? alarm + wakeUp : now)
        wait.end = max(wait.woke, deadline)
        if wait.end > wait.woke { spins.append(Spin(start: wait.woke, end: wait.end)) }
        now = wait.end
        lateness.append(now - deadline)
        plan.learn(from: wait)
    }

    /// Waits for a number of deadlines, one period after the other.
    mutating func run(_ count: Int, every period: UInt64, wakeUp: (Int) -> UInt64) {
        var deadline = now
        for number in 0..<count {
            deadline = max(deadline, now) + period
            wait(for: deadline, wakeUp: wakeUp(number))
        }
    }

    /// The most that was spun in any second. A second with the most of it begins with a spin or ends with one.
    var busiestSecond: UInt64 {
        let second: UInt64 = 1_000_000_000
        var sums: [UInt64] = [0]
        for spin in spins { sums.append(sums[sums.count - 1] + spin.end - spin.start) }
        // What was spun before an instant.
        func spun(before instant: UInt64) -> UInt64 {
            var (low, high) = (0, spins.count)
            while low < high {
                let middle = (low + high) / 2
                if spins[middle].end <= instant { low = middle + 1 } else { high = middle }
            }
            let isCut = low < spins.count && spins[low].start < instant
            return sums[low] + (isCut ? instant - spins[low].start : 0)
        }
        let starts = spins.flatMap { [$0.start, $0.end - second] }
        return starts.map { spun(before: $0 + second) - spun(before: $0) }.max() ?? 0
    }
}
