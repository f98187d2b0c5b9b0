internal import HostSystem
internal import PreciseTimer
internal import TimerResults

/// The program cyclictest of rt-tests, if it is installed. It measures the same thing as `floor-nanosleep` from
/// outside, as a check of our own measurement.
package enum Cyclictest {
    /// The program's file; nil if it is not installed.
    package static let path: String? = Programs.path(of: RowKey.cyclictest)

    /// Why the program cannot measure here; nil if it can.
    package static let obstacle: String? =
        path == nil
        ? "not installed (part of rt-tests)"
        : RealTime.isAllowed
            ? nil : "installed, but it demands the right to a real-time priority (root, or ulimit -r 1)"

    /// One line for the list of rows.
    package static let summary = "the program of rt-tests: absolute clock_nanosleep with 1 ns timer slack, one thread"

    /// cyclictest keeps wake-ups in a buffer of 16,384, and empties it a hundred times a second. With a shorter
    /// period, a stall of 0.2 s would lose some.
    private static let shortestPeriod = Duration.microseconds(10)

    /// The timer slack at its start in nanoseconds, as for the floors. cyclictest sets 1 ns itself. But as root it
    /// tries a real-time policy first, and afterwards the kernel restores the slack of the thread's creation.
    static let timerSlack: UInt = 1

    /// Why cyclictest cannot carry out a plan; nil if it can.
    static func problem(period: Duration, clock: TimerClock) -> String? {
        let nanoseconds = period.wholeNanoseconds
        if clock == .continuous { return "it has no such clock" }
        if period < shortestPeriod { return "its shortest period is 10 µs" }
        if !nanoseconds.isMultiple(of: 1000) { return "its periods are whole microseconds" }
        // Its option is a number of 32 bits.
        if nanoseconds / 1000 > UInt64(Int32.max) { return "its longest period is 35 minutes" }
        return nil
    }

    /// The arguments. They do not tune the machine or raise the program's priority, so that it is measured on the
    /// same terms as the other rows.
    static func arguments(period: Duration, clock: TimerClock, loops: UInt64) -> [String] {
        [
            "--quiet", "--verbose", "--nsecs", "--policy=other", "--default-system", "--threads=1",
            "--clock=\(clock == .wall ? 1 : 0)", "--interval=\(period.wholeNanoseconds / 1000)", "--loops=\(loops)",
        ]
    }
}
