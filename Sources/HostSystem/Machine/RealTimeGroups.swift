/// The time that control groups leave to real-time threads: `cpu.rt_runtime_us` of version 1, in kernels with
/// CONFIG_RT_GROUP_SCHED (the kernel's sched-rt-group.rst).
package enum RealTimeGroups {
    /// Percent of the time that the group of this process, and each group above it, leaves to its real-time threads,
    /// where it is least; nil if none of them has such a limit.
    package static func share(reading read: (String) -> String? = ProcFile.text) -> Double? {
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
