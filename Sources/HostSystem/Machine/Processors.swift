internal import CTimerKernel
internal import Glibc

/// The processors of the machine.
package enum Processors {
    /// The number of processors that are switched on.
    package static var online: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

    /// The number of processors that the calling thread may run on; nil if the kernel does not say.
    package static var usable: Int? {
        let count = usable_processors()
        return count > 0 ? Int(count) : nil
    }
}

/// The limit that control groups put on processor time.
package enum CPUQuota {
    /// The limit of this process, in processors; nil if there is no limit.
    package static var current: Double? {
        ProcFile.text("/proc/self/cgroup").flatMap { find(groups: $0, reading: ProcFile.text) }
    }

    /// Whether the kernel shows the groups of this process and their limits. A container may hide both.
    package static var isShown: Bool { isShown(reading: ProcFile.text) }

    /// The same for other files: each version of control groups has one that its root always has.
    package static func isShown(reading read: (String) -> String?) -> Bool {
        let roots = ["cgroup.controllers", "cpu/cgroup.procs", "cpu,cpuacct/cgroup.procs"]
        return read("/proc/self/cgroup")?.isEmpty == false && roots.contains { read("/sys/fs/cgroup/\($0)") != nil }
    }

    /// Finds the strictest limit of a group and all groups above it.
    ///
    /// - Parameters:
    ///   - groups: the text of /proc/self/cgroup.
    ///   - read: returns the text of a file; nil if the file does not exist.
    /// - Returns: the number of processors whose time the groups allow; nil if there is no limit.
    package static func find(groups: String, reading read: (String) -> String?) -> Double? {
        groups.split(separator: "\n").flatMap { limits(line: $0, read) }.min()
    }

    /// The limits of the group in one line, as `0::/a/b` (cgroups(7)), and of the groups above it. In a container,
    /// the path may belong to the host: then only the files at the root exist.
    private static func limits(line: Substring, _ read: (String) -> String?) -> [Double] {
        let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return [] }
        let controllers = parts[1].split(separator: ",")
        guard controllers.isEmpty || controllers.contains("cpu") else { return [] }
        let groups = pathsUpwards(parts[2])
        if controllers.isEmpty { return groups.compactMap { second(read("/sys/fs/cgroup\($0)/cpu.max")) } }
        // The folder has the names of all its controllers. There may be a link with the name of this one.
        return groups.compactMap { group in
            first("/sys/fs/cgroup/cpu\(group)", read) ?? first("/sys/fs/cgroup/\(parts[1])\(group)", read)
        }
    }

    /// A group's path and the paths above it. The root is empty.
    private static func pathsUpwards(_ path: Substring) -> [String] {
        let names = path.split(separator: "/")
        return (0...names.count).map { names[..<$0].map { "/\($0)" }.joined() }
    }

    /// Version 2 of control groups: `150000 100000`, or `max 100000`.
    private static func second(_ text: String?) -> Double? {
        let numbers = text?.split { $0 == " " || $0 == "\n" } ?? []
        return numbers.count == 2 ? ratio(numbers[0], to: numbers[1]) : nil
    }

    /// Version 1 of control groups: one file for each number, and -1 for no limit.
    private static func first(_ directory: String, _ read: (String) -> String?) -> Double? {
        guard let quota = read("\(directory)/cpu.cfs_quota_us"), let period = read("\(directory)/cpu.cfs_period_us")
        else { return nil }
        return ratio(quota.prefix { $0 != "\n" }, to: period.prefix { $0 != "\n" })
    }

    private static func ratio(_ quota: Substring, to period: Substring) -> Double? {
        guard let quota = Double(quota), let period = Double(period), quota > 0, period > 0 else { return nil }
        return quota / period
    }
}

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
