internal import FoundationEssentials
internal import TimerAlarms

/// The machine that was measured: results of two machines are not to be compared unawares.
package struct Host: Codable, Hashable, Sendable {
    package let system: String
    package let kernel: String
    package let machine: String
    package let cpu: String?
    package let processors: Int
    package let build: Build

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
    }

    package init(system: String, kernel: String, machine: String, cpu: String?, processors: Int, build: Build) {
        self.system = system
        self.kernel = kernel
        self.machine = machine
        self.cpu = cpu
        self.processors = processors
        self.build = build
    }

    /// This machine.
    package static var current: Host {
        let name = SystemName()
        let facts = FileManager.default.contents(atPath: "/proc/cpuinfo").map { String(decoding: $0, as: UTF8.self) }
        return Host(
            system: name.system,
            kernel: name.release,
            machine: name.machine,
            cpu: facts.flatMap { cpuModel(in: $0) },
            processors: ProcessInfo.processInfo.activeProcessorCount,
            build: .current
        )
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
        return "\(system) \(kernel) \(machine), \(processors)\(cpu.map { " (\($0))" } ?? ""), \(build.rawValue) build"
    }
}
