internal import TimerAlarms
internal import TimerCore

/// Whether the machine leaves a busy thread alone: a look at the clock, without pause, for a moment.
package enum StallCheck {
    /// How long it looks, in nanoseconds.
    private static let duration: UInt64 = 3_000_000
    /// A longer gap between two looks is a stall: some ten times what an interrupt takes, in nanoseconds.
    package static let tolerated: UInt64 = 500_000

    /// Looks, and says what was seen; nil where that was nothing.
    static func disturbance(_ when: String) -> String? {
        let start = KernelClock.now(.suspending).nanoseconds
        var (last, longest) = (start, UInt64(0))
        while last - start < duration {
            let now = KernelClock.now(.suspending).nanoseconds
            longest = max(longest, now - last)
            last = now
        }
        return disturbance(longestGap: longest, when)
    }

    /// What a longest gap between two looks says.
    package static func disturbance(longestGap gap: UInt64, _ when: String) -> String? {
        guard gap > tolerated else { return nil }
        return "a busy thread stood still for \(NumberText.microseconds(Double(gap), places: 0)) µs \(when)"
    }
}
