internal import TimerAlarms
package import TimerCore

/// cyclictest of rt-tests, where it is installed: an outside measurement of the same kind as `floor-nanosleep`, by which ours
/// can be judged.
package enum Cyclictest {
    /// The row's name.
    package static let name = "cyclictest"

    /// The program's file; nil where it is not installed.
    package static let path: String? = Programs.path(of: name)

    /// One line for the list of rows.
    package static var summary: String {
        "the program of rt-tests: absolute clock_nanosleep with 1 ns timer slack, one thread"
    }

    /// It notes wake-ups in a buffer of 16,384, which it empties a hundred times a second: with a shorter period a stall of
    /// 0.2 s would have it lose some. In nanoseconds.
    package static let shortestPeriod: UInt64 = 10_000

    /// The timer slack that it is started with, as the floors have it, in nanoseconds. It sets 1 ns itself, but as root it
    /// tries a real-time policy first, and on the way back the kernel restores what its thread was created with.
    package static let timerSlack: UInt = 1

    /// Why it cannot carry out a plan; nil where it can.
    package static func obstacle(period: UInt64, clock: TimerClock) -> String? {
        if clock == .continuous { return "it has no such clock" }
        if period < shortestPeriod { return "its shortest period is 10 µs" }
        if !period.isMultiple(of: 1000) { return "its periods are whole microseconds" }
        // Its option is a number of 32 bits.
        if period / 1000 > UInt64(Int32.max) { return "its longest period is 35 minutes" }
        return nil
    }

    /// What it is started with: nothing that tunes the machine or raises its own priority, so that it is measured on the
    /// same terms as the rest.
    static func arguments(period: UInt64, clock: TimerClock, loops: UInt64) -> [String] {
        [
            "--quiet", "--verbose", "--nsecs", "--policy=other", "--default-system", "--threads=1",
            "--clock=\(clock == .wall ? 1 : 0)", "--interval=\(period / 1000)", "--loops=\(loops)",
        ]
    }
}
