internal import PreciseTimer
package import TimerResults

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
