/// The limit that a control group puts on processor time.
package enum CPUQuota {
    /// Finds it.
    ///
    /// - Parameters:
    ///   - groups: the text of /proc/self/cgroup.
    ///   - read: the text of a file; nil where there is none.
    /// - Returns: how many processors' time the strictest group of this process and above it allows; nil where none does.
    package static func find(groups: String, reading read: (String) -> String?) -> Double? {
        groups.split(separator: "\n").flatMap { limits(line: $0, read) }.min()
    }

    /// The limits of the group that one line names, as `0::/a/b` (cgroups(7)), and of those above it. Inside of a container
    /// the path may be one of the host's: its last files then are at the root.
    private static func limits(line: Substring, _ read: (String) -> String?) -> [Double] {
        let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return [] }
        let controllers = parts[1].split(separator: ",")
        guard controllers.isEmpty || controllers.contains("cpu") else { return [] }
        let groups = above(parts[2])
        if controllers.isEmpty { return groups.compactMap { second(read("/sys/fs/cgroup\($0)/cpu.max")) } }
        // The hierarchy is mounted by all of its controllers' names, and there may be a link of this one's.
        return groups.compactMap { group in
            first("/sys/fs/cgroup/cpu\(group)", read) ?? first("/sys/fs/cgroup/\(parts[1])\(group)", read)
        }
    }

    /// A group's path and those above it, up to the root, which is empty.
    private static func above(_ path: Substring) -> [String] {
        let names = path.split(separator: "/")
        return (0...names.count).map { names[..<$0].map { "/\($0)" }.joined() }
    }

    /// Of version 2: `150000 100000`, or `max 100000`.
    private static func second(_ text: String?) -> Double? {
        let numbers = text?.split { $0 == " " || $0 == "\n" }.map(String.init) ?? []
        guard numbers.count == 2 else { return nil }
        return ratio(numbers[0], to: numbers[1])
    }

    /// Of version 1: a file for each of the two, and -1 where there is no limit.
    private static func first(_ directory: String, _ read: (String) -> String?) -> Double? {
        guard let quota = read("\(directory)/cpu.cfs_quota_us"), let period = read("\(directory)/cpu.cfs_period_us")
        else {
            return nil
        }
        return ratio(quota.filter { $0 != "\n" }, to: period.filter { $0 != "\n" })
    }

    private static func ratio(_ quota: String, to period: String) -> Double? {
        guard let quota = Double(quota), let period = Double(period), quota > 0, period > 0 else { return nil }
        return quota / period
    }
}
