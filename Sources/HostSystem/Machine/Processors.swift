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

    /// The strictest limit of the groups in the text of /proc/self/cgroup and of all groups above them, in processors.
    package static func find(groups: String, reading read: (String) -> String?) -> Double? {
        groups.split(separator: "\n").flatMap { limits(line: $0, read) }.min()
    }

    /// The limits of the group in one line, as `0::/a/b` (cgroups(7)), and of the groups above it. In a container,
    /// the path may belong to the host: then only the files at the root exist.
    private static func limits(line: Substring, _ read: (String) -> String?) -> [Double] {
        let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty || parts[1].split(separator: ",").contains("cpu") else { return [] }
        let names = parts[2].split(separator: "/")
        return (0...names.count).map { names[..<$0].map { "/\($0)" }.joined() }
            .compactMap { group in
                // Version 2 of control groups has one file, and version 1 a file for each number. Its folder has the
                // names of all its controllers, and there may be a link with the name of this one.
                if parts[1].isEmpty { return read("/sys/fs/cgroup\(group)/cpu.max").flatMap { ratio(in: $0) } }
                return ["cpu", parts[1]].map { "/sys/fs/cgroup/\($0)\(group)/cpu.cfs_" }
                    .compactMap { file in
                        read("\(file)quota_us").flatMap { quota in read("\(file)period_us").map { "\(quota) \($0)" } }
                    }
                    .first.flatMap { ratio(in: $0) }
            }
    }

    /// The quotient of a quota and its period, as `150000 100000`; nil without a limit, as `max 100000` or `-1 100000`.
    private static func ratio(in text: String) -> Double? {
        let numbers = text.split(whereSeparator: \.isWhitespace).map { Double($0) ?? 0 }
        return numbers.count == 2 && numbers.allSatisfy { $0 > 0 } ? numbers[0] / numbers[1] : nil
    }
}
