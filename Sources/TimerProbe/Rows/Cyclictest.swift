internal import HostSystem
internal import PreciseTimer
package import TimerResults

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

/// The output of cyclictest with `--verbose --nsecs --quiet`: a line for each wake-up, and a summary line.
///
///     Max CPUs = 2
///     Online CPUs = 2
///     Thread 0 Interval: 1500
///            0:       0:  100133
///            0:       1:  110839
///     T: 0 (26155) P: 0 I:1000 C:      2 Min:  100133 Act:  110839 Avg:  105486 Max:  110839
package struct CyclictestOutput: Hashable, Sendable {
    /// The lateness of each wake-up, in nanoseconds.
    package let latenesses: [Int64]

    /// Reads the output.
    ///
    /// - Parameters:
    ///   - text: the whole output.
    ///   - isComplete: whether cyclictest ended by itself. After an interruption, its summary counts more wake-ups
    ///     than it shows.
    /// - Throws: `Problem` if something is missing or not as expected.
    package init(_ text: String, isComplete: Bool) throws(Problem) {
        var latenesses: [Int64] = []
        var sum: Int?
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "T:".utf8) {
                sum = Self.cycles(in: Substring(line))
            } else if let (cycle, lateness) = Self.wakeUp(in: line) {
                guard cycle == latenesses.count else { throw Self.damage("wake-up \(latenesses.count) is missing") }
                latenesses.append(lateness)
            }
        }
        guard !latenesses.isEmpty else { throw Self.damage("it has no wake-up") }
        if isComplete {
            guard let sum else { throw Self.damage("its last line is missing") }
            guard sum == latenesses.count else {
                throw Self.damage("it shows \(latenesses.count) of \(sum) wake-ups")
            }
        }
        self.latenesses = latenesses
    }

    /// The numbers in `0: CYCLE: LATENESS`; nil for any other line.
    private static func wakeUp(in line: Substring.UTF8View) -> (cycle: Int, lateness: Int64)? {
        let parts = line.split(separator: UInt8(ascii: ":"))
        guard parts.count == 3, number(parts[0]) == 0, let cycle = number(parts[1]), let lateness = number(parts[2])
        else { return nil }
        return (Int(cycle), lateness)
    }

    private static func number(_ text: Substring.UTF8View) -> Int64? {
        Int64(Substring(text.drop { $0 == UInt8(ascii: " ") }))
    }

    /// The number after `C:`.
    private static func cycles(in line: Substring) -> Int? {
        let words = line.split(separator: " ")
        guard let place = words.firstIndex(where: { $0.hasPrefix("C:") }) else { return nil }
        if words[place].count > 2 { return Int(words[place].dropFirst(2)) }
        return place + 1 < words.count ? Int(words[place + 1]) : nil
    }

    private static func damage(_ reason: String) -> Problem {
        Problem("the output of cyclictest is damaged: \(reason)")
    }

    /// The wake-ups as ticks. After a late wake-up, cyclictest goes on with the first deadline that has not passed,
    /// and does not name the deadlines before it. They follow from the lateness of the wake-up.
    package func recording(of deadlines: Deadlines, goal: UInt64) -> Recording {
        var recording = Recording(of: deadlines, goal: goal)
        for lateness in latenesses where !recording.isComplete {
            let due = deadlines[recording.accounted].nanoseconds
            let now = TimerInstant(nanoseconds: due &+ UInt64(bitPattern: lateness), clock: deadlines.start.clock)
            recording.record(at: now, .deadlines)
        }
        return recording
    }
}
