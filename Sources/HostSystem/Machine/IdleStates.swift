/// The states in which a processor waits for work. A deeper state saves more power, and takes longer to leave.
package enum IdleStates {
    /// One state, as its driver describes it.
    package struct State: Hashable, Sendable {
        /// For example `C6`.
        package let name: String
        /// Nanoseconds that a processor takes to leave the state.
        package let exit: UInt64
    }

    /// The state of the first processor that takes longest to leave; nil if the kernel shows no states. Source: the
    /// kernel's documentation of cpuidle in sysfs.
    package static let deepest = deepest(in: "/sys/devices/system/cpu/cpu0/cpuidle")

    /// Nanoseconds that this state takes to leave; 0 if the kernel shows no states.
    package static let longestExit = deepest?.exit ?? 0

    /// The driver of the states, as `intel_idle` or `none`; nil if the kernel does not say.
    package static var driver: String? { ProcFile.line("/sys/devices/system/cpu/cpuidle/current_driver") }

    /// The governor that chooses among the states, as `menu`; nil if the kernel does not say. Older kernels show it
    /// under the second name only.
    package static var governor: String? {
        ProcFile.line("/sys/devices/system/cpu/cpuidle/current_governor")
            ?? ProcFile.line("/sys/devices/system/cpu/cpuidle/current_governor_ro")
    }

    /// Whether the kernel's boot options keep idle processors running.
    package static var isPolling: Bool {
        ProcFile.line("/proc/cmdline")?.split(separator: " ").contains("idle=poll") ?? false
    }

    /// The deepest state in another folder. A state that is switched off does not count.
    package static func deepest(in folder: String) -> State? {
        (0..<16).lazy
            .map { "\(folder)/state\($0)" }
            .prefix { ProcFile.line("\($0)/latency") != nil }
            .filter { (ProcFile.line("\($0)/disable") ?? "0") == "0" }
            .compactMap { state -> State? in
                // More than a second is no time to wake.
                guard let exit = ProcFile.line("\(state)/latency").flatMap({ UInt64($0) }), exit < 1_000_000 else {
                    return nil
                }
                return State(name: ProcFile.line("\(state)/name") ?? "without a name", exit: 1000 * exit)
            }
            .max { $0.exit < $1.exit }
    }
}
