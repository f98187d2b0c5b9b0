/// The machine that was measured. A comparison of two machines' results must say so.
package struct Host: Codable, Hashable, Sendable {
    package let system: String
    package let kernel: String
    package let machine: String
    package let cpu: String?
    package let processors: Int
    package let build: Build
    /// The source of the kernel's time, as `tsc` or `kvm-clock`.
    package let clockSource: String?
    /// The governor of the processors' frequency, as `performance`.
    package let governor: String?
    /// Whether the machine is virtual.
    package let hypervisor: Bool?
    /// The number of processors that the process may run on.
    package let usableProcessors: Int?
    /// The limit of the control group, in processors; nil if there is no limit.
    package let cpuQuota: Double?
    /// Nanoseconds for one reading of the clock.
    package private(set) var clockRead: Double?

    /// How the command was built.
    package enum Build: String, Codable, Sendable {
        case debug
        case release

        /// This build. Only debug builds evaluate the condition of an assertion.
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

    /// Whether both are the same machine in the same state. The price of reading the clock differs a little each time.
    package func isSame(as other: Host) -> Bool {
        var other = other
        other.clockRead = clockRead
        return self == other
    }

    /// One line.
    package var summary: String {
        let processors = processors == 1 ? "1 processor" : "\(processors) processors"
        let guest = hypervisor == true ? "virtual, " : ""
        let model = cpu.map { " (\($0))" } ?? ""
        return "\(system) \(kernel) \(machine), \(guest)\(processors)\(model), \(build.rawValue) build"
    }
}
