internal import CTimerKernel
internal import Glibc

/// The processors of the machine.
package enum Processors {
    /// The number of processors that are switched on; at most 0 if the system does not say.
    package static var online: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

    /// The number of processors that the calling thread may run on; nil if the kernel does not say.
    package static var usable: Int? { usableNumbers?.count }

    /// The numbers of the processors that the calling thread may run on, in ascending order; nil if the kernel does not
    /// say.
    package static var usableNumbers: [Int]? {
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
    package static var relevant: [Int] {
        usableNumbers ?? ProcFile.line("/sys/devices/system/cpu/online").flatMap { numbers(in: $0) } ?? []
    }

    /// Reads a list of the kernel, as `0-2,7`; nil if the text is no such list.
    package static func numbers(in text: String) -> [Int]? {
        var numbers: [Int] = []
        for part in text.split(separator: ",") {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], 0 <= first,
                first <= last, last < 65_536
            else { return nil }
            numbers += first...last
        }
        return numbers
    }

    /// Writes such a list of ascending numbers.
    package static func list(_ numbers: [Int]) -> String {
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
    package static func shareCores(active: String?, siblings: [String?]) -> Bool? {
        if active == "0" { return false }
        let counts = siblings.map { $0.flatMap { numbers(in: $0)?.count } }
        if counts.contains(where: { $0 ?? 0 > 1 }) { return true }
        if !counts.isEmpty, counts.allSatisfy({ $0 == 1 }) { return false }
        return active == "1" ? true : nil
    }

    /// The same for the processors that count for this process.
    package static var shareCores: Bool? {
        let root = "/sys/devices/system/cpu"
        return shareCores(
            active: ProcFile.line("\(root)/smt/active"),
            siblings: relevant.map { ProcFile.line("\(root)/cpu\($0)/topology/thread_siblings_list") }
        )
    }
}

/// The governors of the processors' frequencies.
package enum FrequencyGovernor {
    /// From the best for precision to the worst.
    private static let known = ["performance", "schedutil", "ondemand", "conservative", "userspace", "powersave"]

    /// The worst governor of the processors that count for this process, and where it is if they differ:
    /// `powersave on processor 1 of 2`. Nil if none is worse than `performance`, and one is not shown.
    package static var worst: String? {
        worst(of: Processors.relevant) { ProcFile.line("/sys/devices/system/cpu/cpu\($0)/cpufreq/scaling_governor") }
    }

    /// The same of other processors.
    package static func worst(of processors: [Int], reading read: (Int) -> String?) -> String? {
        let governors = processors.map { (number: $0, name: read($0)) }
        let names = governors.compactMap(\.name)
        // An unknown one is worse than each known one.
        func rank(_ name: String) -> Int { known.firstIndex(of: name) ?? known.count }
        guard let worst = names.max(by: { (rank($0), $0) < (rank($1), $1) }) else { return nil }
        if worst == known[0], names.count < processors.count { return nil }
        return worst + Processors.place(governors.filter { $0.name == worst }.map(\.number), of: processors)
    }
}
