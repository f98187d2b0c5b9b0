/// The states in which a processor waits for work. A deeper state saves more power, and takes longer to leave.
package enum IdleStates {
    /// Nanoseconds that the deepest state of the first processor takes to leave, as its driver says; 0 if the kernel
    /// shows no states. Source: the kernel's documentation of cpuidle in sysfs.
    package static let longestExit = longestExit(in: "/sys/devices/system/cpu/cpu0/cpuidle")

    /// The same from another folder.
    package static func longestExit(in folder: String) -> UInt64 {
        let exits = (0..<16).lazy
            .map { ProcFile.text("\(folder)/state\($0)/latency") }
            .prefix { $0 != nil }
            .compactMap { $0?.split(separator: "\n").first.flatMap { UInt64($0) } }
        // More than a second is no time to wake.
        return exits.filter { $0 < 1_000_000 }.max().map { 1000 * $0 } ?? 0
    }
}
