/// The time for which other guests of the same host had the processors that this machine wanted.
package struct StealTime: Hashable, Sendable {
    /// In hundredths of a second, for all processors together.
    package let stolen: UInt64
    /// All billed time, in the same unit.
    package let total: UInt64

    package init(stolen: UInt64, total: UInt64) {
        self.stolen = stolen
        self.total = total
    }

    /// The time up to now; nil if the kernel does not say.
    package static var current: StealTime? {
        ProcFile.text("/proc/stat").flatMap { StealTime(stat: $0) }
    }

    /// Reads the text of /proc/stat: the eighth number of its first line (proc_stat(5)).
    package init?(stat: String) {
        guard let line = stat.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
        let numbers = line.split(separator: " ").dropFirst().compactMap { UInt64($0) }
        guard numbers.count >= 8 else { return nil }
        self.init(stolen: numbers[7], total: numbers[..<8].reduce(0, &+))
    }

    /// The stolen share of the time since an earlier reading, in percent; nil if no time has been billed since.
    ///
    /// - Parameter earlier: the earlier reading; without it, the share since the machine was started.
    /// - Returns: the share of all billed time, idle time included.
    package func percent(since earlier: StealTime = StealTime(stolen: 0, total: 0)) -> Double? {
        guard total > earlier.total, stolen >= earlier.stolen else { return nil }
        return 100 * Double(stolen - earlier.stolen) / Double(total - earlier.total)
    }

    /// The share of one processor's time that was stolen since an earlier reading, in percent. The kernel counts in
    /// hundredths of a second, so one or two of them count as nothing.
    ///
    /// - Parameters:
    ///   - earlier: the earlier reading.
    ///   - nanoseconds: the time in between, for which one thread wanted a processor.
    /// - Returns: the share; nil if the readings contradict each other.
    package func percentOfOneProcessor(since earlier: StealTime, in nanoseconds: UInt64) -> Double? {
        guard stolen >= earlier.stolen else { return nil }
        let lost = stolen - earlier.stolen
        return lost < 3 ? 0 : 1e9 * Double(lost) / Double(nanoseconds)
    }
}
