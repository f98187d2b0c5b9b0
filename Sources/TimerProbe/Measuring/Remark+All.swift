package import HostSystem
internal import PreciseTimer
package import TimerResults

/// The remarks that a plan leads to. The disturbances, which a measurement meets, are below.
extension Remark {
    /// All known differences between a plan and its measurement, before it begins. Remarks about missing rows come
    /// first.
    ///
    /// - Parameters:
    ///   - plan: the plan.
    ///   - host: the machine.
    /// - Returns: the remarks.
    package static func all(for plan: MeasurementPlan, on host: Host) -> [Remark] {
        plan.leftOut + ofProcessors(host) + plan.loads.compactMap { of($0, plan, host) }
            + [ofClock(plan), ofDelivery(plan), ofThreads(plan), ofTimers(plan), ofBuild(host)].compactMap(\.self)
    }

    private static func ofProcessors(_ host: Host) -> [Remark] {
        var remarks: [Remark] = []
        let usable = host.usableProcessors ?? host.processors
        if usable < host.processors {
            remarks.append(
                Remark(
                    asked: processors(host.processors),
                    obtained: "\(usable) of them",
                    reason: "this process may run on no others (its CPU affinity, or a cpuset)"
                )
            )
        }
        if let quota = host.cpuQuota, quota < Double(usable) {
            remarks.append(
                Remark(
                    asked: "the time of \(processors(usable))",
                    obtained: "that of \(NumberText.fixed(quota, places: 2))",
                    reason: "the control group of this process has a limit, at which all threads stand still"
                )
            )
        }
        return remarks
    }

    private static func of(_ load: Load, _ plan: MeasurementPlan, _ host: Host) -> Remark? {
        let asked = "--load \(load.name)"
        switch load {
        case .idle, .busy, .memory: return nil
        case .cpu(let threads):
            let usable = host.usableProcessors ?? host.processors
            guard threads > usable else { return nil }
            let obtained = "\(threads) threads on \(processors(usable))"
            return Remark(asked: asked, obtained: obtained, reason: "there are no more")
        case .handler:
            return of(plan, asked: asked, "nothing", reason: "it calls no handler") { $0.mechanism == .referee }
        case .churn, .pending:
            let reason = "it is a load on the queue of a timer service, which only backends have"
            return of(plan, asked: asked, "nothing", reason: reason) { $0.kind != .backend }
        }
    }

    private static func ofClock(_ plan: MeasurementPlan) -> Remark? {
        of(
            plan,
            asked: "--clock \(plan.clock.rawValue)",
            TimerClock.suspending.rawValue,
            reason: "timers without the library have that clock only"
        ) { $0.clock(asked: plan.clock) != plan.clock }
    }

    private static func ofDelivery(_ plan: MeasurementPlan) -> Remark? {
        of(
            plan,
            asked: "--deliver \(plan.delivery.rawValue)",
            HandlerPlace.inline.rawValue,
            reason: "they tick on their own threads or tasks"
        ) { !$0.runs(plan.delivery) }
    }

    private static func ofThreads(_ plan: MeasurementPlan) -> Remark? {
        let thread = plan.wishes.ofThread
        guard plan.delivery != .inline, thread.policy != .normal || !thread.affinity.isEmpty else { return nil }
        return Remark(
            asked: "a real-time policy or an affinity",
            obtained: "one for the threads that wake up, not for those of the handlers",
            reason: "--deliver \(plan.delivery.rawValue) passes the ticks on"
        )
    }

    private static func ofTimers(_ plan: MeasurementPlan) -> Remark? {
        of(
            plan,
            asked: "--timers \(plan.timers)",
            "1",
            reason: "it has a thread for each timer, and the other rows have one for all timers"
        ) { plan.timers > 1 && $0.mechanism == .referee }
    }

    private static func ofBuild(_ host: Host) -> Remark? {
        guard host.build == .debug else { return nil }
        return Remark(
            asked: "a measurement of the library",
            obtained: "one of its debug build",
            reason: "the command was built without -c release"
        )
    }

    private static func processors(_ count: Int) -> String { count == 1 ? "1 processor" : "\(count) processors" }

    /// A remark that some rows of a plan obtain something else; nil if there are no such rows.
    private static func of(
        _ plan: MeasurementPlan,
        asked: String,
        _ obtained: String,
        reason: String,
        where isDifferent: (Row) -> Bool
    ) -> Remark? {
        let names = plan.rows.filter(isDifferent).map(\.name)
        guard !names.isEmpty else { return nil }
        return Remark(asked: asked, obtained: "\(obtained) for \(names.joined(separator: ", "))", reason: reason)
    }
}

/// Checks whether the machine interrupts a busy thread: it reads the clock without pause for a moment.
package enum StallCheck {
    /// Nanoseconds of reading.
    private static let duration: UInt64 = 3_000_000
    /// The longest gap between two readings that is no stall, in nanoseconds: some ten times the length of an
    /// interrupt.
    private static let tolerated: UInt64 = 500_000

    /// Checks now, and describes a stall; nil if there was no stall.
    static func disturbance(_ when: String) -> String? {
        let start = SystemClock.monotonic.nanoseconds
        var (last, longest) = (start, UInt64(0))
        while last - start < duration {
            let now = SystemClock.monotonic.nanoseconds
            longest = max(longest, now - last)
            last = now
        }
        return disturbance(longestGap: longest, when)
    }

    /// Describes the stall in a longest gap; nil if it is no stall.
    package static func disturbance(longestGap gap: UInt64, _ when: String) -> String? {
        guard gap > tolerated else { return nil }
        return "a busy thread stood still for \(NumberText.microseconds(Double(gap), places: 0)) µs \(when)"
    }
}

extension StealTime {
    /// The share of the time that is no disturbance, in percent.
    private static let tolerated = 2.0
    /// Fewer hundredths of a second may be no more than the rounding of a short measurement.
    private static let fewest: UInt64 = 3

    /// Describes the stolen time since this reading; nil if it was little.
    package func disturbance(until later: StealTime?) -> String? {
        guard let later, later.stolen >= stolen + Self.fewest, let percent = later.percent(since: self),
            percent > Self.tolerated
        else { return nil }
        return "other guests of the host took \(NumberText.fixed(percent, places: 1)) % of the processors' time"
    }
}
