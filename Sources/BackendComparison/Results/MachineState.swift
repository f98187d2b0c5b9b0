/// How busy the machine was while it was measured, in percent. What the kernel does not show is nil.
struct MachineState: Codable, Hashable, Sendable {
    /// The share of the processors that this process may use that other programs used.
    var others: Double?
    /// The share of the time in which some program waited for a processor, in turns without a load of ours: the
    /// kernel's pressure stall information.
    var waiting: Double?
    /// The share of these processors' time that other guests of the host took.
    var stolen: Double?
    /// The kernel's load average of the last minute, at the end.
    var loadAverage: Double?
    /// How often the quota of a control group stopped the process; nil without a quota.
    var quota: QuotaStops?

    private enum CodingKeys: String, CodingKey {
        case others = "others_percent"
        case waiting = "waiting_percent"
        case stolen = "stolen_percent"
        case loadAverage = "load_average"
        case quota = "throttling"
    }

    /// From these shares on, figures are of the machine's other work more than of timers.
    static let most = (others: 20.0, waiting: 10.0, stolen: 2.0)

    /// Whether other work made the figures.
    var isBusy: Bool {
        (others ?? 0) > Self.most.others || (waiting ?? 0) > Self.most.waiting || (stolen ?? 0) > Self.most.stolen
    }

    /// Whether the quota of a control group made the figures.
    var isThrottled: Bool { quota?.matters == true }

    /// The state in one line, if it matters: `BUSY: other programs used 97 % of the processors (load 5.4 on 2)`, or
    /// `THROTTLED: the quota of 0.05 processors stopped this process …`.
    func words(on host: Host) -> String? {
        let parts = [
            isThrottled ? quota.map { "THROTTLED: \($0.words)" } : nil,
            isBusy ? "BUSY: \(excesses(on: host).joined(separator: "; "))" : nil,
        ]
        let known = parts.compactMap(\.self)
        return known.isEmpty ? nil : known.joined(separator: "; ")
    }

    /// The state in a few sentences, also if the machine was quiet. The loads are those of the rows.
    func sentence(on host: Host, under loads: [String] = [RowKey.idle]) -> String {
        [quotaSentence(on: host), workSentence(on: host, under: loads)].compactMap(\.self).joined(separator: " ")
    }

    private func quotaSentence(on host: Host) -> String? {
        if host.cpuQuota != nil, quota == nil {
            return "The kernel does not show whether its quota stopped this process."
        }
        guard isThrottled, let quota else { return nil }
        let pressure =
            waiting == nil ? " How long others waited is unknown: the kernel also counts such stops as waiting." : ""
        return "Throttled: \(quota.words).\(pressure)"
    }

    private func workSentence(on host: Host, under loads: [String]) -> String {
        if isBusy { return "Busy: \(excesses(on: host).joined(separator: ", and "))." }
        let guests = host.hypervisor == true ? stolen.map { "other guests of the host took \(Self.percent($0))" } : nil
        let unseen = "a load of other programs"
        let hiding = loads.filter { $0 != RowKey.idle }
        if !loads.isEmpty, hiding.count == loads.count {
            return ["Not measured under \(unseen)", guests].compactMap(\.self).joined(separator: "; ") + "."
        }
        let programs =
            others.map { "other programs used \(Self.percent($0)) of the processors" }
            ?? waiting.map { "programs waited for a processor \(Self.percent($0)) of the time" }
        let place = hiding.isEmpty ? "" : " in the turns without \(unseen)"
        let shares = [programs.map { $0 + place }, guests].compactMap(\.self)
        return shares.isEmpty
            ? "Unknown: the kernel does not show what else ran." : "Quiet: \(shares.joined(separator: ", and "))."
    }

    private static func percent(_ share: Double) -> String { "\(NumberText.fixed(share, places: 0)) %" }

    /// The shares that exceed their limits.
    private func excesses(on host: Host) -> [String] {
        var parts: [String] = []
        if let others, others > Self.most.others {
            let load = loadAverage.map { " (load \(NumberText.fixed($0, places: 1)) on \(host.processors))" } ?? ""
            parts.append("other programs used \(Self.percent(others)) of the processors\(load)")
        } else if let waiting, waiting > Self.most.waiting {
            parts.append("programs waited for a processor \(Self.percent(waiting)) of the time")
        }
        if let stolen, stolen > Self.most.stolen {
            parts.append("other guests of the host took \(Self.percent(stolen))")
        }
        return parts
    }

    var isSound: Bool {
        [others, waiting, stolen, loadAverage].allSatisfy { $0.map { (0...1e6).contains($0) } ?? true }
            && quota?.isSound ?? true
    }
}

/// What the machine did in one lap, in percent; nil if the kernel does not show it.
struct Lap: Hashable, Sendable {
    var waiting: Double?
    var stolen: Double?

    /// Whether the machine disturbed the lap. The rule looks at the machine and not at the ticks, and leaves out the
    /// turns of all rows alike: so no row can look better by it.
    var isDisturbed: Bool {
        (waiting ?? 0) > MachineState.most.waiting || (stolen ?? 0) > MachineState.most.stolen
    }

    var isSound: Bool { [waiting, stolen].allSatisfy { $0.map { (0...1e6).contains($0) } ?? true } }
}

extension Results {
    /// Which laps the middle of the lateness is taken from: those that the machine did not disturb. If they are fewer
    /// than half, the machine is busy and there is nothing better: all laps count. Laps under a load of ours all count,
    /// since the load itself looks like a disturbance.
    func countingLaps(under load: String) -> [Bool] {
        let calm = laps.map { !$0.isDisturbed }
        let enough = max(Ratio.fewest, (laps.count + 1) / 2)
        return load == RowKey.idle && calm.count(where: \.self) >= enough ? calm : laps.map { _ in true }
    }

    /// The number of laps that do not count.
    var lapsLeftOut: Int {
        rows.contains { $0.key.load == RowKey.idle } ? countingLaps(under: RowKey.idle).count { !$0 } : 0
    }
}

/// How often the quota of a control group stopped the process while it was measured.
struct QuotaStops: Codable, Hashable, Sendable {
    /// The quota, in processors.
    let limit: Double
    /// The quota's periods in which the group wanted to run, and those in which it was stopped.
    let periods: UInt64
    let stops: UInt64
    /// The time for which it was stopped, in percent. The kernel adds up all processors: at most 100 counts.
    let share: Double

    private enum CodingKeys: String, CodingKey {
        case limit = "quota"
        case periods
        case stops = "throttled"
        case share = "percent"
    }

    /// From one of so many periods on, figures are of the quota: one stop makes up to a hundred ticks of 1 ms late.
    private static let fewest: UInt64 = 100

    /// Whether the quota made the figures.
    var matters: Bool { stops > 0 && stops >= periods / Self.fewest }

    /// For example `the quota of 0.05 processors stopped this process in 51 of 66 periods`. The share is not among the
    /// words, since a sum of all processors is no share of the time.
    var words: String {
        let limit = NumberText.fixed(limit, places: 2)
        return "the quota of \(limit) processors stopped this process in \(stops) of \(periods) periods"
    }

    var isSound: Bool {
        (0...1e6).contains(limit) && periods < 1 << 40 && stops < 1 << 40 && (0...100).contains(share)
    }
}

/// The machine that was measured. A comparison of two machines' results must say so.
struct Host: Codable, Hashable, Sendable {
    let system: String
    let kernel: String
    let machine: String
    let cpu: String?
    let processors: Int
    let build: Build
    /// The source of the kernel's time, as `tsc` or `kvm-clock`.
    var clockSource: String?
    /// The governor of the processors' frequency, as `performance`. If the usable processors differ, the worst one and
    /// where it is: `powersave on processor 1 of 2`.
    var governor: String?
    /// Whether the machine is virtual.
    var hypervisor: Bool?
    /// The number of processors that the process may run on.
    var usableProcessors: Int?
    /// The limit of the control group, in processors; nil if there is no limit.
    var cpuQuota: Double?
    /// Nanoseconds for one reading of the clock.
    var clockRead: Double?

    /// How the command was built.
    enum Build: String, Codable, Sendable {
        case debug
        case release

        /// This build. Only debug builds evaluate the condition of an assertion.
        static var current: Build {
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
    func hasKernel(_ major: Int, _ minor: Int) -> Bool? {
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
}
