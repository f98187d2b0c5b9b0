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
