internal import Glibc
internal import TimerKernel

/// The limits that control groups put on the processor time of a process.
struct CPUQuota: Hashable, Sendable {
    /// A group with a limit.
    struct Group: Hashable, Sendable {
        /// In processors.
        let limit: Double
        /// The file with the group's account.
        let account: String
    }

    /// The groups of the process that have a limit, and such groups above them.
    let groups: [Group]
    /// Whether the kernel shows the groups of the process and their limits. A container may hide both.
    let isShown: Bool

    /// Whether the root of the groups that are shown is the root of all groups. That of a container may have groups
    /// above it, with limits of their own.
    let isWhole: Bool

    /// The strictest limit, in processors; nil if there is no limit, or if it is not shown.
    var limit: Double? { groups.map(\.limit).min() }

    /// The limits of this process now.
    static var current: CPUQuota { CPUQuota(reading: ProcFile.text) }

    /// The limits of a process whose files are read so.
    init(reading read: (String) -> String?) {
        let lines = read("/proc/self/cgroup")?.split(separator: "\n") ?? []
        let paths = lines.compactMap { Self.path(line: $0) }
        let found = paths.flatMap { Self.groups(of: $0, read) }
        groups = found.compactMap(\.self)
        // Each version of control groups has a file that its root always has.
        let roots = ["cgroup.controllers", "cpu/cgroup.procs", "cpu,cpuacct/cgroup.procs"]
        // If version 1 has the controller of processors, version 2 has it not.
        let first = paths.filter { !$0.isSecond }
        let counting = first.isEmpty ? paths : first
        isWhole = !counting.isEmpty && counting.allSatisfy { $0.isWhole(read) }
        isShown =
            !lines.isEmpty && groups.count == found.count
            && roots.contains { read("/sys/fs/cgroup/\($0)") != nil }
    }

    /// What each of the groups has counted up to now; nil if that is not shown.
    func accounts(reading read: (String) -> String? = ProcFile.text) -> [Throttling?] {
        groups.map { read($0.account).flatMap { Throttling($0) } }
    }

    /// The place of a group that shares out processors.
    struct Path {
        let isSecond: Bool
        /// The folders at which the hierarchy may begin.
        let roots: [String]
        let names: [Substring]

        /// The folders that the group at some depth may have.
        func folders(depth: Int) -> [String] {
            let path = names[..<depth].map { "/\($0)" }.joined()
            return roots.map { $0 + path }
        }

        /// Whether the groups that are shown begin at the root of all. In version 2 it is the only one without a type;
        /// in version 1 it is the only one with `cgroup.sane_behavior`. A path with `..` leads out of the visible tree.
        func isWhole(_ read: (String) -> String?) -> Bool {
            guard !names.contains("..") else { return false }
            return roots.contains { root in
                isSecond
                    ? read("\(root)/cgroup.controllers") != nil && read("\(root)/cgroup.type") == nil
                    : read("\(root)/cgroup.sane_behavior") != nil
            }
        }
    }

    /// The place that a line as `0::/a/b` names (cgroups(7)); nil if the line is of another controller.
    static func path(line: Substring) -> Path? {
        let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty || parts[1].split(separator: ",").contains("cpu") else { return nil }
        // Version 2 of control groups has one file, and version 1 a file for each number. Its folder has the names of
        // all its controllers, and there may be a link with the name of this one.
        let roots = (parts[1].isEmpty ? [""] : ["/cpu", "/\(parts[1])"]).map { "/sys/fs/cgroup\($0)" }
        return Path(isSecond: parts[1].isEmpty, roots: roots, names: parts[2].split(separator: "/"))
    }

    /// The groups with a limit of one place, and of the groups above it; nil for a limit that cannot be understood. In
    /// a container, the path may belong to the host: then only the files at the root exist.
    private static func groups(of path: Path, _ read: (String) -> String?) -> [Group?] {
        let known = (0...path.names.count)
            .compactMap { depth in
                path.folders(depth: depth)
                    .compactMap { folder in limitText(in: folder, isSecond: path.isSecond, read).map { (folder, $0) } }
                    .first
            }
        return known.map { folder, text in ratio(in: text).map { Group(limit: $0, account: "\(folder)/cpu.stat") } }
            .filter { $0?.limit != .infinity }
    }

    /// The quota and the period; nil if the group has no such file.
    private static func limitText(in folder: String, isSecond: Bool, _ read: (String) -> String?) -> String? {
        if isSecond { return read("\(folder)/cpu.max") }
        guard let quota = read("\(folder)/cpu.cfs_quota_us") else { return nil }
        return "\(quota) \(read("\(folder)/cpu.cfs_period_us") ?? "")"
    }

    /// The quotient of a quota and its period, as `150000 100000`; infinity without a limit, as `max 100000` or
    /// `-1 100000`; nil for another text.
    private static func ratio(in text: String) -> Double? {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let period = Double(words[1]), period > 0 else { return nil }
        if words[0] == "max" || words[0] == "-1" { return .infinity }
        guard let quota = Double(words[0]), quota > 0, quota.isFinite else { return nil }
        return quota / period
    }
}

/// How often and how long a quota stopped a group since the group was made (the kernel's sched-bwc.rst).
struct Throttling: Hashable, Sendable {
    /// The periods in which the group wanted to run.
    let periods: UInt64
    /// Those in which it was stopped.
    let stops: UInt64
    /// Nanoseconds for which it was stopped, the sum of all processors. A stop is counted at its end.
    let nanoseconds: UInt64
}

extension Throttling {
    /// Reads the text of a group's `cpu.stat`. Version 2 of control groups counts microseconds.
    init?(_ text: String) {
        func number(_ name: String) -> UInt64? {
            text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
                .flatMap { UInt64($0.dropFirst(name.count + 1)) }
        }
        let time = number("throttled_time") ?? number("throttled_usec").map { $0 &* 1000 }
        guard let periods = number("nr_periods"), let stops = number("nr_throttled"), let time else { return nil }
        self.init(periods: periods, stops: stops, nanoseconds: time)
    }

    /// The account since an earlier reading; nil if a number went back.
    func since(_ earlier: Throttling) -> Throttling? {
        guard periods >= earlier.periods, stops >= earlier.stops, nanoseconds >= earlier.nanoseconds else { return nil }
        return Throttling(
            periods: periods - earlier.periods,
            stops: stops - earlier.stops,
            nanoseconds: nanoseconds - earlier.nanoseconds
        )
    }
}

/// The time that control groups leave to real-time threads: `cpu.rt_runtime_us` of version 1, in kernels with
/// CONFIG_RT_GROUP_SCHED (the kernel's sched-rt-group.rst).
enum RealTimeGroups {
    /// Percent of the time that the group of this process, and each group above it, leaves to its real-time threads,
    /// where it is least; nil if none of them has such a limit.
    static func share(reading read: (String) -> String? = ProcFile.text) -> Double? {
        let lines = read("/proc/self/cgroup")?.split(separator: "\n") ?? []
        let paths = lines.compactMap { CPUQuota.path(line: $0) }.filter { !$0.isSecond }
        let folders = paths.flatMap { path in (0...path.names.count).flatMap { path.folders(depth: $0) } }
        return folders.compactMap { share(in: $0, read) }.min()
    }

    /// A runtime of -1 is no limit.
    private static func share(in folder: String, _ read: (String) -> String?) -> Double? {
        func number(_ name: String) -> Double? {
            read("\(folder)/cpu.rt_\(name)_us").flatMap { $0.split(whereSeparator: \.isWhitespace).first }
                .flatMap { Int($0) }.map(Double.init)
        }
        guard let runtime = number("runtime"), let period = number("period"), period > 0 else { return nil }
        return runtime < 0 ? 100 : 100 * runtime / period
    }
}

/// Reads the accounts of the groups with a quota again and again, with one system call for each.
///
/// A quota stops a thread when a system call returns. If each reading opened the file, a stop between the two calls
/// would already be in the account that is meant to be the one before the stop.
final class ThrottlingReader: Sendable {
    /// Nil for a file that cannot be opened.
    private let files: [OpenFile?]

    /// Opens the accounts of the groups that have a limit now.
    init(_ quota: CPUQuota = .current) {
        files = quota.groups.map { try? OpenFile($0.account, O_RDONLY) }
    }

    /// What each of the groups has counted up to now; nil if that is not shown. Empty without a limit.
    var accounts: [Throttling?] { files.map { $0.flatMap { Self.account(in: $0) } } }

    private static func account(in file: OpenFile) -> Throttling? {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = try? SystemCall.retrying { unsafe pread(file.number, &buffer, buffer.count, 0) }.get()
        return count.flatMap { Throttling(String(decoding: buffer.prefix($0), as: UTF8.self)) }
    }
}
