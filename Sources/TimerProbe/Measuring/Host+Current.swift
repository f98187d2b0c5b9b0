internal import HostSystem
package import TimerResults

extension Host {
    /// This machine.
    package static var current: Host {
        let name = SystemName()
        let facts = ProcFile.text("/proc/cpuinfo")
        return Host(
            system: name.system,
            kernel: name.release,
            machine: name.machine,
            cpu: facts.flatMap { cpuModel(in: $0) },
            processors: Processors.online,
            build: .current,
            clockSource: ProcFile.line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: ProcFile.line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            hypervisor: facts.flatMap { isGuest(in: $0) },
            usableProcessors: Processors.usable,
            cpuQuota: CPUQuota.current,
            clockRead: clockRead
        )
    }

    /// Nanoseconds of one reading of the clock. Any measurement of time adds at least this to its figures.
    ///
    /// It is the median of nine batches, each long enough to be timed.
    private static var clockRead: Double {
        let (batches, readings) = (9, 1000)
        let prices = (0..<batches)
            .map { _ in
                let start = SystemClock.monotonic.nanoseconds
                for _ in 1..<readings { _ = SystemClock.monotonic.nanoseconds }
                return Double(SystemClock.monotonic.nanoseconds - start) / Double(readings)
            }
        return prices.sorted()[batches / 2]
    }

    /// Whether the text of /proc/cpuinfo is that of a virtual machine; nil if it does not say, as on ARM machines.
    package static func isGuest(in facts: String) -> Bool? {
        let flags = facts.split(separator: "\n").first { $0.hasPrefix("flags") }
        return flags.map { $0.split(separator: " ").contains("hypervisor") }
    }

    /// The model in the text of /proc/cpuinfo; nil if it names no model, as on many ARM machines.
    package static func cpuModel(in facts: String) -> String? {
        let models = facts.split(separator: "\n").lazy.filter { $0.hasPrefix("model name") }
            .compactMap { line in
                line.firstIndex(of: ":").map { line[line.index(after: $0)...].split(separator: " ") }
            }
        return models.first { !$0.isEmpty }?.joined(separator: " ")
    }
}
