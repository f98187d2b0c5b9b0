package import HostSystem
package import PreciseTimer
package import TimerResults

/// Other work on the machine while a row ticks.
package enum Load: Hashable, Sendable {
    /// No other work of ours.
    case idle
    /// A number of other programs that spin.
    case cpu(Int)
    /// As many of them as this process may use processors, and as its quota has room for.
    case busy
    /// Handlers that work for some time.
    case handler(Duration)
    /// A number of timers a second that are scheduled and cancelled on the same service.
    case churn(Int)
    /// A number of timers in the same service's queue, an hour and more away.
    case pending(Int)
    /// A thread that allocates, touches and frees memory without pause.
    case memory

    // A greater number is a typing error.
    private static let mostPrograms = 256
    private static let mostTimers = 1_000_000
    private static let longestWork = Duration.seconds(10)

    /// Reads a load: `idle`, `busy`, `cpu`, `cpu:2`, `handler:200us`, `churn:10000`, `pending:100000` or `memory`.
    package static func parse(_ text: String) throws(Problem) -> Load {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? parts[1] : nil
        switch (parts[0], value) {
        case ("idle", nil): return .idle
        case ("busy", nil): return .busy
        case ("memory", nil): return .memory
        case ("cpu", nil): return .cpu(1)
        case ("cpu", let value?): return .cpu(try number(value, atMost: mostPrograms, of: "programs"))
        case ("churn", let value?): return .churn(try number(value, atMost: mostTimers, of: "timers a second"))
        case ("pending", let value?): return .pending(try number(value, atMost: mostTimers, of: "timers"))
        case ("handler", let value?): return .handler(try work(value))
        default:
            throw Problem(
                "the loads are idle, busy, cpu, cpu:PROGRAMS, handler:TIME, churn:TIMERS-A-SECOND, pending:TIMERS and "
                    + "memory"
            )
        }
    }

    private static func number(_ text: Substring, atMost most: Int, of things: String) throws(Problem) -> Int {
        guard let number = Int(text), (1...most).contains(number) else {
            throw Problem("write 1 to \(most) \(things), as a whole number")
        }
        return number
    }

    private static func work(_ text: Substring) throws(Problem) -> Duration {
        guard let work = try? DurationText.parse(String(text)), work > .zero, work <= longestWork else {
            throw Problem("handlers can work for 1ns to 10s, as in handler:200us")
        }
        return work
    }

    /// The number of programs of `busy`: one for each processor that the process may use. They belong to the control
    /// group of this process, so more programs than its quota allows processors would only be stopped sooner.
    package static func busyPrograms(on processors: Int, quota: Double?) -> Int {
        let room = max(processors, 1)
        guard let quota, quota < Double(room) else { return room }
        return Int(max(quota.rounded(.up), 1))
    }

    /// Whether it is the work of other programs.
    var hasPrograms: Bool { if case .cpu = self { true } else { self == .busy } }

    /// The name in tables, in JSON and on the command line.
    package var name: String {
        switch self {
        case .idle: RowKey.idle
        case .busy: "busy"
        case .cpu(let threads): "cpu:\(threads)"
        case .handler(let work): "handler:\(DurationText.format(nanoseconds: work.wholeNanoseconds))"
        case .churn(let perSecond): "churn:\(perSecond)"
        case .pending(let timers): "pending:\(timers)"
        case .memory: "memory"
        }
    }
}

/// One use of a load: it is ready after its creation, works from `begin()` to `halt()`, and is gone after `stop()`.
package struct LoadRun {
    private let load: Load
    private let thread: LoadThread?
    private let processes: BusyProcesses?
    /// Far timers, which wait from the creation on.
    private let timers: [PreciseTimer]

    /// How long a load works before the first deadline of a turn.
    static func lead(of load: Load) -> Duration { load == .idle ? .zero : .milliseconds(20) }

    /// Makes a load ready. A load of timers uses the queue of the service; without a service, there is no such load.
    /// Throws an error if the system refuses a thread or a process, or the service a timer. No part of the load stays
    /// then.
    package init(_ load: Load, on service: TimerService?) throws {
        self.load = load
        processes =
            switch load {
            case .busy:
                try BusyProcesses(
                    Load.busyPrograms(on: Processors.usable ?? Processors.online, quota: CPUQuota.current.limit)
                )
            case .cpu(let count): try BusyProcesses(count)
            default: nil
            }
        thread =
            switch load {
            // The probes do the work of handlers.
            case .idle, .busy, .cpu, .handler, .pending: nil
            case .memory: try LoadThread("load.memory", MemoryLoad.run)
            case .churn(let perSecond):
                try service.map { service in
                    try LoadThread("load.churn") { ChurnLoad(service, perSecond).run(until: $0) }
                }
            }
        if case .pending(let count) = load, let service {
            timers = try (0..<count)
                .map { number in
                    let delay = Duration.seconds(3_600) + .milliseconds(number)
                    return try PreciseTimer.schedule(.once(after: delay), on: service) { _, _ in }
                }
        } else {
            timers = []
        }
    }

    /// The kernel's bill for the load's own thread up to now: zero without such a thread, nil if the kernel does not
    /// show it. It is exact before `begin()` and after `halt()`, while the thread sleeps. Compare it with the account
    /// of the whole process only then.
    package var usage: ResourceUsage? { if let thread { thread.usage } else { .zero } }

    /// Why the load has ended by itself, in a few words; nil if it has not. A row under a load that has ended was
    /// measured without one.
    package var failure: String? {
        if let end = processes?.end { return "a program of the load \(load.name) ended: \(end)" }
        return thread?.hasEndedEarly == true ? "the load \(load.name) ended: its service takes no more timers" : nil
    }

    /// Starts the work.
    package func begin() {
        thread?.begin()
        processes?.begin()
    }

    /// Ends the work, and keeps the thread and its account. Returns when the thread sleeps.
    package func halt() {
        thread?.halt()
        processes?.halt()
    }

    /// Ends the work, the thread and the timers. Returns when no more work is done. Processes end with this value.
    package func stop() {
        halt()
        thread?.stop()
        for timer in timers { timer.cancel() }
    }
}

/// Schedules and cancels timers at a rate. All of them are too far away to tick.
package struct ChurnLoad {
    private let service: TimerService
    private let perSecond: UInt64

    /// The shortest time between two batches. Shorter sleeps would themselves be the load.
    private static let shortestSleep = Duration.milliseconds(1)
    /// The longest sleep of the thread before it reads the stop flag.
    private static let longestSleep = Duration.milliseconds(5)

    package init(_ service: TimerService, _ perSecond: Int) {
        self.service = service
        self.perSecond = UInt64(perSecond)
    }

    /// The number of timers that the rate allows in some nanoseconds.
    package static func goal(perSecond: UInt64, after nanoseconds: UInt64) -> UInt64 {
        let (high, low) = perSecond.multipliedFullWidth(by: nanoseconds)
        return high < 1_000_000_000 ? UInt64(1_000_000_000).dividingFullWidth((high, low)).quotient : .max
    }

    /// Works until the flag is set, or the service takes no more timers. The next batch makes up for a late batch.
    /// Returns the number of scheduled timers.
    @discardableResult package func run(until isStopped: StopFlag) -> UInt64 {
        let start = TimerClock.suspending.now
        let pause = min(max(Self.shortestSleep, .seconds(1) / perSecond), Self.longestSleep)
        var (next, scheduled) = (start, UInt64(0))
        while !isStopped.isSet {
            let now = TimerClock.suspending.now
            let goal = Self.goal(perSecond: perSecond, after: now.nanoseconds - start.nanoseconds)
            while scheduled < goal, !isStopped.isSet {
                guard scheduleAndCancel() else { return scheduled }
                scheduled += 1
            }
            // The grid of batches does not depend on the time of the work.
            while next <= now { next = next.advanced(by: pause) }
            SystemClock.monotonic.sleep(until: next.nanoseconds)
        }
        return scheduled
    }

    private func scheduleAndCancel() -> Bool {
        let timer = try? PreciseTimer.schedule(.once(after: .seconds(7_200)), on: service) { _, _ in }
        return timer?.cancel() ?? false
    }
}
