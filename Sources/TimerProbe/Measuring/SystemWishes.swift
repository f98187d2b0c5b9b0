package import PreciseTimer
package import TimerResults

/// What a measurement asks of the system for its threads, and of rows that spin. By default nothing.
package struct SystemWishes: Hashable, Sendable {
    /// The options of threads, process and machine.
    package var options = TimerService.ThreadOptions()
    /// The longest spin; nil for the library's choice.
    package var maximumSpin: Duration?
    /// The share of a core for spinning; nil for the library's choice.
    package var cpuBudget: Double?

    package init() {}

    /// The options of a row's own thread. Floors and backends get the same.
    var ofThread: TimerService.ThreadOptions {
        TimerService.ThreadOptions(
            policy: options.policy,
            affinity: options.affinity,
            timerSlack: options.timerSlack,
            slice: options.slice
        )
    }

    /// The options of the spinning; nil if nothing was asked for.
    package var spin: TimerService.SpinOptions? {
        guard maximumSpin != nil || cpuBudget != nil else { return nil }
        var spin = TimerService.SpinOptions()
        if let maximumSpin { spin.maximum = maximumSpin }
        if let cpuBudget { spin.budget = cpuBudget }
        return spin
    }

    /// How long a row that spins may spin before a deadline.
    var longestSpin: Duration { maximumSpin ?? TimerService.SpinOptions().maximum }

    /// Starts a service of a row.
    func startService(on backend: TimerService.Backend, clock: TimerClock) throws(TimerError) -> TimerService {
        try TimerService(backend, clock: clock, thread: ofThread, spin: backend == .hybrid ? spin : nil)
    }

    /// Starts a service that holds what concerns the whole process or machine, for all rows alike; nil if there is no
    /// such wish. It has no timers.
    func startCompanion() throws(TimerError) -> TimerService? {
        guard options.locksMemory || options.idleLatency != nil else { return nil }
        let held = TimerService.ThreadOptions(locksMemory: options.locksMemory, idleLatency: options.idleLatency)
        return try TimerService(.timerFD, thread: held)
    }

    /// The wishes, each as on the command line.
    package var texts: [String] { Wish.allCases.compactMap { $0.text(of: self) } }

    /// The same as arguments of another run of the command.
    package var arguments: [String] { texts.flatMap { $0.split(separator: " ").map(String.init) } }

    /// One kind of wish.
    enum Wish: CaseIterable {
        case realtime, affinity, timerSlack, slice, lockMemory, idleLatency, maximumSpin, cpuBudget

        /// The option on the command line that makes the wish; nil if it was not made.
        func text(of wishes: SystemWishes) -> String? {
            let options = wishes.options
            return switch self {
            case .realtime: options.policy.text.map { "--realtime \($0)" }
            case .affinity: options.affinity.isEmpty ? nil : "--affinity \(ProcessorsText.format(options.affinity))"
            case .timerSlack: options.timerSlack.map { "--timer-slack \(Self.text($0))" }
            case .slice: options.slice.map { "--slice \(Self.text($0))" }
            case .lockMemory: options.locksMemory ? "--lock-memory" : nil
            case .idleLatency: options.idleLatency.map { "--idle-latency \(Self.text($0))" }
            case .maximumSpin:
                wishes.maximumSpin.map { "--maximum-spin \(DurationText.format(nanoseconds: $0.wholeNanoseconds))" }
            case .cpuBudget: wishes.cpuBudget.map { "--cpu-budget \(Self.percent($0))" }
            }
        }

        private static func text(_ duration: Duration) -> String {
            duration == .zero ? "0" : DurationText.format(nanoseconds: duration.wholeNanoseconds)
        }

        private static func percent(_ share: Double) -> String {
            let percent = (share * 1e6).rounded() / 1e4
            return "\(Int(exactly: percent).map(String.init) ?? String(percent))%"
        }
    }
}

/// Scheduling policies in text: `fifo:80`, `rr:80`, `deadline:200us:500us:1ms`.
extension TimerService.ThreadOptions.Policy {
    /// Reads a real-time policy. The library checks the values.
    package static func parse(_ text: String) throws(Problem) -> Self {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count) {
        case ("fifo", 2): if let priority = Int(parts[1]) { return .fifo(priority: priority) }
        case ("rr", 2): if let priority = Int(parts[1]) { return .roundRobin(priority: priority) }
        case ("deadline", 4):
            return .deadline(
                runtime: try DurationText.parse(parts[1]),
                deadline: try DurationText.parse(parts[2]),
                period: try DurationText.parse(parts[3])
            )
        default: break
        }
        throw Problem(
            "write fifo or rr and a priority of 1 to 99, or deadline with a runtime, a deadline and a period, as in "
                + "fifo:80, rr:80 or deadline:200us:500us:1ms"
        )
    }

    /// The policy in text; nil for the ordinary one.
    package var text: String? {
        switch self {
        case .normal: nil
        case .fifo(let priority): "fifo:\(priority)"
        case .roundRobin(let priority): "rr:\(priority)"
        case .deadline(let runtime, let deadline, let period):
            "deadline:"
                + [runtime, deadline, period].map { DurationText.format(nanoseconds: $0.wholeNanoseconds) }
                .joined(separator: ":")
        }
    }
}

/// Sets of processors in text: `1`, `0,2-3`.
package enum ProcessorsText {
    /// The kernel has fewer processors.
    private static let limit = 65_536

    /// Reads the kernel's numbers of processors and ranges of them, with commas between them.
    package static func parse(_ text: String) throws(Problem) -> Set<Int> {
        var processors: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
                0 <= first, first <= last, last < limit
            else {
                throw Problem("write processors from 0 to \(limit - 1), as in 1 or 0,2-3")
            }
            processors.formUnion(first...last)
        }
        return processors
    }

    /// Writes a set, each range of three or more by its ends.
    package static func format(_ processors: Set<Int>) -> String {
        var ranges: [ClosedRange<Int>] = []
        for processor in processors.sorted() {
            if let last = ranges.last, last.upperBound + 1 == processor {
                ranges[ranges.count - 1] = last.lowerBound...processor
            } else {
                ranges.append(processor...processor)
            }
        }
        return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }
}
