internal import CTimerKernel
internal import Glibc
internal import TimerKernel

/// The processors of the machine.
enum Processors {
    /// The number of processors that are switched on; at most 0 if the system does not say.
    static var online: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

    /// The number of processors that the calling thread may run on; nil if the kernel does not say.
    static var usable: Int? { usableNumbers?.count }

    /// The numbers of the processors that the calling thread may run on, in ascending order; nil if the kernel does not
    /// say.
    static var usableNumbers: [Int]? {
        // Large enough for the largest machines.
        var mask = [UInt](repeating: 0, count: 1024)
        let size = unsafe thread_affinity(0, &mask, UInt(mask.count * MemoryLayout<UInt>.size))
        guard size > 0 else { return nil }
        let numbers = (0..<mask.count * UInt.bitWidth)
            .filter { mask[$0 / UInt.bitWidth] & 1 << ($0 % UInt.bitWidth) != 0 }
        return numbers.isEmpty ? nil : numbers
    }

    /// The processors whose settings count for this process: those that it may use, or else all that are switched on.
    /// Empty if the kernel shows neither.
    static var relevant: [Int] {
        usableNumbers ?? ProcFile.line("/sys/devices/system/cpu/online").flatMap { numbers(in: $0) } ?? []
    }

    /// Reads a list of the kernel, as `0-2,7`; nil if the text is no such list.
    static func numbers(in text: String) -> [Int]? {
        var numbers: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], 0 <= first,
                first <= last, last < 65_536
            else { return nil }
            numbers += first...last
        }
        return numbers
    }

    /// Writes such a list of ascending numbers.
    static func list(_ numbers: [Int]) -> String {
        let ranges = numbers.reduce(into: [ClosedRange<Int>]()) { ranges, next in
            if let last = ranges.last, last.upperBound + 1 == next {
                ranges[ranges.count - 1] = last.lowerBound...next
            } else {
                ranges.append(next...next)
            }
        }
        return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }

    /// Where some of the relevant processors are: ` on processor 1 of 2`; empty if these are all.
    static func place(_ some: [Int], of all: [Int]) -> String {
        if some.count == all.count { return "" }
        return " on processor\(some.count == 1 ? "" : "s") \(list(some)) of \(all.count)"
    }

    /// Whether a core of theirs runs another thread, too: from the text of /sys/devices/system/cpu/smt/active, and the
    /// list of each processor's siblings, nil if it is not shown. Nil if that is unknown.
    static func shareCores(active: String?, siblings: [String?]) -> Bool? {
        if active == "0" { return false }
        let counts = siblings.map { $0.flatMap { numbers(in: $0)?.count } }
        if counts.contains(where: { $0 ?? 0 > 1 }) { return true }
        if !counts.isEmpty, counts.allSatisfy({ $0 == 1 }) { return false }
        return active == "1" ? true : nil
    }

    /// The same for the processors that count for this process.
    static var shareCores: Bool? {
        let root = "/sys/devices/system/cpu"
        return shareCores(
            active: ProcFile.line("\(root)/smt/active"),
            siblings: relevant.map { ProcFile.line("\(root)/cpu\($0)/topology/thread_siblings_list") }
        )
    }
}

/// The governors of the processors' frequencies.
enum FrequencyGovernor {
    /// From the best for precision to the worst.
    private static let known = ["performance", "schedutil", "ondemand", "conservative", "userspace", "powersave"]

    /// The worst governor of some processors, and where it is if they differ: `powersave on processor 1 of 2`. Nil if
    /// none is worse than `performance`, and one is not shown.
    static func worst(
        of processors: [Int] = Processors.relevant,
        reading read: (Int) -> String? = { ProcFile.line("/sys/devices/system/cpu/cpu\($0)/cpufreq/scaling_governor") }
    ) -> String? {
        let governors = processors.map { (number: $0, name: read($0)) }
        let names = governors.compactMap(\.name)
        // An unknown one is worse than each known one.
        func rank(_ name: String) -> Int { known.firstIndex(of: name) ?? known.count }
        guard let worst = names.max(by: { (rank($0), $0) < (rank($1), $1) }) else { return nil }
        if worst == known[0], names.count < processors.count { return nil }
        return worst + Processors.place(governors.filter { $0.name == worst }.map(\.number), of: processors)
    }
}

/// The states in which a processor waits for work. A deeper state saves more power, and takes longer to leave.
enum IdleStates {
    /// One state, as its driver describes it.
    struct State: Hashable, Sendable {
        /// For example `C6`.
        let name: String
        /// Nanoseconds that a processor takes to leave the state.
        let exit: UInt64
    }

    /// The state that takes longest to leave, of all processors that count for this process (the kernel's cpuidle.rst),
    /// and where it is if they differ: `C6 on processor 1 of 2`. Nil if the kernel shows no state of one of them.
    static let deepest = deepest(of: Processors.relevant) {
        deepest(in: "/sys/devices/system/cpu/cpu\($0)/cpuidle")
    }

    /// The same of other processors.
    static func deepest(of processors: [Int], reading read: (Int) -> State?) -> State? {
        let states = processors.map { (number: $0, state: read($0)) }
        guard states.allSatisfy({ $0.state != nil }),
            let worst = states.compactMap(\.state).max(by: { $0.exit < $1.exit })
        else { return nil }
        let place = Processors.place(states.filter { $0.state == worst }.map(\.number), of: processors)
        return State(name: worst.name + place, exit: worst.exit)
    }

    /// The driver of the states, as `intel_idle` or `none`; nil if the kernel does not say.
    static var driver: String? { ProcFile.line("/sys/devices/system/cpu/cpuidle/current_driver") }

    /// The governor that chooses among the states, as `menu`; nil if the kernel does not say.
    static var governor: String? {
        // Older kernels have the second name only.
        ["", "_ro"].lazy.compactMap { ProcFile.line("/sys/devices/system/cpu/cpuidle/current_governor\($0)") }.first
    }

    /// Whether the kernel's boot options keep idle processors running: `idle=poll` on x86, and `nohlt` elsewhere.
    static var isPolling: Bool {
        let option: Substring = SystemName().machine == "x86_64" ? "idle=poll" : "nohlt"
        return ProcFile.line("/proc/cmdline")?.split(separator: " ").contains(option) ?? false
    }

    /// The deepest state in another folder. A state that is switched off does not count.
    static func deepest(in folder: String) -> State? {
        (0..<16).lazy
            .map { "\(folder)/state\($0)" }
            .prefix { ProcFile.line("\($0)/latency") != nil }
            .compactMap { state -> State? in
                // More than a second is no time to wake.
                guard (ProcFile.line("\(state)/disable") ?? "0") == "0",
                    let exit = ProcFile.line("\(state)/latency").flatMap({ UInt64($0) }), exit < 1_000_000
                else { return nil }
                return State(name: ProcFile.line("\(state)/name") ?? "without a name", exit: 1000 * exit)
            }
            .max { $0.exit < $1.exit }
    }
}

/// The device that keeps idle processors awake: they use no state that takes longer to leave than the number that a
/// program writes to /dev/cpu_dma_latency, until the program closes it.
enum IdleControl {
    /// Whether this process may use the device; nil if there is no such device. Opening it asks for nothing.
    static var isAllowed: Bool? { isWritable("/dev/cpu_dma_latency") }

    /// Whether this process may open a file to write to it; nil if there is no such file.
    static func isWritable(_ path: String) -> Bool? {
        do throws(Errno) {
            _ = try OpenFile(path, O_WRONLY)
            return true
        } catch Errno(ENOENT) { return nil } catch { return false }
    }
}
