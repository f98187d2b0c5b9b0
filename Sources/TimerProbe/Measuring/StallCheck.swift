internal import HostSystem
internal import TimerResults

/// Checks whether the machine interrupts a busy thread: it reads the clock without pause for a moment.
package enum StallCheck {
    /// Nanoseconds of reading.
    private static let duration: UInt64 = 3_000_000
    /// The longest gap between two readings that is no stall, in nanoseconds: some ten times the length of an
    /// interrupt.
    private static let tolerated: UInt64 = 500_000

    /// Checks now, and describes a stall; nil if there was no stall.
    static func disturbance(_ when: String) -> String? {
        let start = SystemClock.monotonic.nanoseconds
        var (last, longest) = (start, UInt64(0))
        while last - start < duration {
            let now = SystemClock.monotonic.nanoseconds
            longest = max(longest, now - last)
            last = now
        }
        return disturbance(longestGap: longest, when)
    }

    /// Describes the stall in a longest gap; nil if it is no stall.
    package static func disturbance(longestGap gap: UInt64, _ when: String) -> String? {
        guard gap > tolerated else { return nil }
        return "a busy thread stood still for \(NumberText.microseconds(Double(gap), places: 0)) µs \(when)"
    }
}
