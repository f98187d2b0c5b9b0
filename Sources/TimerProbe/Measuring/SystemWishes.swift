package import PreciseTimer
internal import TimerResults

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
            timerSlack: options.timerSlack
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
        case realtime, affinity, timerSlack, lockMemory, idleLatency, maximumSpin, cpuBudget

        /// The option on the command line that makes the wish; nil if it was not made.
        func text(of wishes: SystemWishes) -> String? {
            let options = wishes.options
            return switch self {
            case .realtime: options.policy.text.map { "--realtime \($0)" }
            case .affinity: options.affinity.isEmpty ? nil : "--affinity \(ProcessorsText.format(options.affinity))"
            case .timerSlack: options.timerSlack.map { "--timer-slack \(Self.text($0))" }
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
