/// The machine that was measured. A comparison of two machines' results must say so.
package struct Host: Codable, Hashable, Sendable {
    package let system: String
    package let kernel: String
    package let machine: String
    package let cpu: String?
    package let processors: Int
    package let build: Build
    /// The source of the kernel's time, as `tsc` or `kvm-clock`.
    package var clockSource: String?
    /// The governor of the processors' frequency, as `performance`. If the usable processors differ, the worst one and
    /// where it is: `powersave on processor 1 of 2`.
    package var governor: String?
    /// Whether the machine is virtual.
    package var hypervisor: Bool?
    /// The number of processors that the process may run on.
    package var usableProcessors: Int?
    /// The limit of the control group, in processors; nil if there is no limit.
    package var cpuQuota: Double?
    /// Nanoseconds for one reading of the clock.
    package var clockRead: Double?

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

    /// Whether the kernel is of this version or a later one, by the first two numbers of its release; nil if it has no
    /// such numbers.
    package func hasKernel(_ major: Int, _ minor: Int) -> Bool? {
        let numbers = kernel.split(separator: ".").prefix(2).map { Int($0.prefix(while: \.isNumber)) }
        guard numbers.count == 2, let first = numbers[0], let second = numbers[1] else { return nil }
        return (first, second) >= (major, minor)
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

    package init(system: String, kernel: String, machine: String, cpu: String?, processors: Int, build: Build) {
        (self.system, self.kernel, self.machine) = (system, kernel, machine)
        (self.cpu, self.processors, self.build) = (cpu, processors, build)
    }
}
