internal import FoundationEssentials
internal import TimerAlarms
internal import TimerCore

/// The machine that was measured: results of two machines are not to be compared unawares.
package struct Host: Codable, Hashable, Sendable {
    package let system: String
    package let kernel: String
    package let machine: String
    package let cpu: String?
    package let processors: Int
    package let build: Build
    /// Where the kernel's time comes from, as `tsc` or `kvm-clock`.
    package let clockSource: String?
    /// Who chooses the processors' frequency, as `performance`.
    package let governor: String?
    /// Whether it is a guest of another machine.
    package let hypervisor: Bool?
    /// How many processors this process may run on.
    package let usableProcessors: Int?
    /// How many processors' time its control group allows it; nil where that is not limited.
    package let cpuQuota: Double?
    /// Nanoseconds that one reading of the clock takes.
    package private(set) var clockRead: Double?

    /// How the command was compiled.
    package enum Build: String, Codable, Sendable {
        case debug
        case release

        /// That of this build. An assertion's condition is evaluated in debug builds only.
        package static var current: Build {
            var build = Build.release
            assert(
                {
                    build = .debug
                    return true
                }()
            )
            return build
        }
    }

    private enum CodingKeys: String, CodingKey {
        case system = "os"
        case kernel = "kernel_release"
        case machine
        case cpu = "cpu_model"
        case processors = "processors_online"
        case build
        case clockSource = "clock_source"
        case governor = "cpu_governor"
        case hypervisor
        case usableProcessors = "usable_processors"
        case cpuQuota = "cpu_quota"
        case clockRead = "clock_read_ns"
    }

    package init(
        system: String,
        kernel: String,
        machine: String,
        cpu: String?,
        processors: Int,
        build: Build,
        clockSource: String? = nil,
        governor: String? = nil,
        hypervisor: Bool? = nil,
        usableProcessors: Int? = nil,
        cpuQuota: Double? = nil,
        clockRead: Double? = nil
    ) {
        self.system = system
        self.kernel = kernel
        self.machine = machine
        self.cpu = cpu
        self.processors = processors
        self.build = build
        self.clockSource = clockSource
        self.governor = governor
        self.hypervisor = hypervisor
        self.usableProcessors = usableProcessors
        self.cpuQuota = cpuQuota
        self.clockRead = clockRead
    }

    /// This machine.
    package static var current: Host {
        let name = SystemName()
        let facts = ProcFile.text("/proc/cpuinfo")
        return Host(
            system: name.system,
            kernel: name.release,
            machine: name.machine,
            cpu: facts.flatMap { cpuModel(in: $0) },
            processors: ProcessInfo.processInfo.activeProcessorCount,
            build: .current,
            clockSource: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            hypervisor: facts.flatMap { isGuest(in: $0) },
            usableProcessors: Processors.usable,
            cpuQuota: ProcFile.text("/proc/self/cgroup").flatMap { CPUQuota.find(groups: $0, reading: ProcFile.text) },
            clockRead: ClockPrice.current
        )
    }

    /// Whether it is the same machine in the same state, though what was measured of it differs a little each time.
    package func isSame(as other: Host) -> Bool {
        var other = other
        other.clockRead = clockRead
        return self == other
    }

    /// The only line of one of the kernel's files.
    private static func line(_ path: String) -> String? {
        ProcFile.text(path)?.split(separator: "\n").first.map(String.init)
    }

    /// Whether the text of /proc/cpuinfo is a guest's; nil where it does not say, as on ARM machines.
    package static func isGuest(in facts: String) -> Bool? {
        let flags = facts.split(separator: "\n").first { $0.hasPrefix("flags") }
        return flags.map { $0.split(separator: " ").contains("hypervisor") }
    }

    /// The model in the text of /proc/cpuinfo; nil where it names none, as on many ARM machines.
    package static func cpuModel(in facts: String) -> String? {
        for line in facts.split(separator: "\n") where line.hasPrefix("model name") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let model = line[line.index(after: colon)...].split(separator: " ").joined(separator: " ")
            if !model.isEmpty { return model }
        }
        return nil
    }

    /// One line.
    package var summary: String {
        let processors = processors == 1 ? "1 processor" : "\(processors) processors"
        let guest = hypervisor == true ? "virtual, " : ""
        let model = cpu.map { " (\($0))" } ?? ""
        return "\(system) \(kernel) \(machine), \(guest)\(processors)\(model), \(build.rawValue) build"
    }
}
