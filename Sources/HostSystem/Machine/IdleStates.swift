internal import Glibc
internal import TimerKernel

/// The states in which a processor waits for work. A deeper state saves more power, and takes longer to leave.
package enum IdleStates {
    /// One state, as its driver describes it.
    package struct State: Hashable, Sendable {
        /// For example `C6`.
        package let name: String
        /// Nanoseconds that a processor takes to leave the state.
        package let exit: UInt64

        package init(name: String, exit: UInt64) { (self.name, self.exit) = (name, exit) }
    }

    /// The state that takes longest to leave, of all processors that count for this process (the kernel's cpuidle.rst),
    /// and where it is if they differ: `C6 on processor 1 of 2`. Nil if the kernel shows no state of one of them.
    package static let deepest = deepest(of: Processors.relevant) {
        deepest(in: "/sys/devices/system/cpu/cpu\($0)/cpuidle")
    }

    /// The same of other processors.
    package static func deepest(of processors: [Int], reading read: (Int) -> State?) -> State? {
        let states = processors.map { (number: $0, state: read($0)) }
        guard states.allSatisfy({ $0.state != nil }),
            let worst = states.compactMap(\.state).max(by: { $0.exit < $1.exit })
        else { return nil }
        let place = Processors.place(states.filter { $0.state == worst }.map(\.number), of: processors)
        return State(name: worst.name + place, exit: worst.exit)
    }

    /// The driver of the states, as `intel_idle` or `none`; nil if the kernel does not say.
    package static var driver: String? { ProcFile.line("/sys/devices/system/cpu/cpuidle/current_driver") }

    /// The governor that chooses among the states, as `menu`; nil if the kernel does not say.
    package static var governor: String? {
        // Older kernels have the second name only.
        ["", "_ro"].lazy.compactMap { ProcFile.line("/sys/devices/system/cpu/cpuidle/current_governor\($0)") }.first
    }

    /// Whether the kernel's boot options keep idle processors running: `idle=poll` on x86, and `nohlt` elsewhere.
    package static var isPolling: Bool {
        let option: Substring = SystemName().machine == "x86_64" ? "idle=poll" : "nohlt"
        return ProcFile.line("/proc/cmdline")?.split(separator: " ").contains(option) ?? false
    }

    /// The deepest state in another folder. A state that is switched off does not count.
    package static func deepest(in folder: String) -> State? {
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
package enum IdleControl {
    /// Whether this process may use the device; nil if there is no such device. Opening it asks for nothing.
    package static var isAllowed: Bool? { isWritable("/dev/cpu_dma_latency") }

    /// Whether this process may open a file to write to it; nil if there is no such file.
    package static func isWritable(_ path: String) -> Bool? {
        do throws(Errno) {
            _ = try OpenFile(path, O_WRONLY)
            return true
        } catch Errno(ENOENT) { return nil } catch { return false }
    }
}
