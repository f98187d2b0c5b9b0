internal import PreciseTimer
internal import TimerCore

/// Finds out where something else is obtained than a plan asks for.
extension Remark {
    /// All that is known before the first measurement.
    ///
    /// - Parameters:
    ///   - plan: what is asked for.
    ///   - host: the machine that it is asked of.
    /// - Returns: the remarks, those on what is left out first.
    package static func all(for plan: MeasurementPlan, on host: Host) -> [Remark] {
        plan.leftOut + ofProcessors(host) + plan.loads.compactMap { of($0, plan, host) }
            + [ofClock(plan), ofDelivery(plan), ofTimers(plan), ofBuild(host)].compactMap(\.self)
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
                    reason:
                        "the control group of this process has a limit; where it is reached, all threads stand still"
                )
            )
        }
        return remarks
    }

    private static func of(_ load: Load, _ plan: MeasurementPlan, _ host: Host) -> Remark? {
        switch load {
        case .idle, .memory: return nil
        case .cpu(let threads):
            let usable = host.usableProcessors ?? host.processors
            guard threads > usable else { return nil }
            return Remark(
                asked: "--load \(load.name)",
                obtained: "\(threads) threads on \(processors(usable))",
                reason: "there are no more"
            )
        case .handler:
            return names(plan.rows.filter { $0.subject == .referee })
                .map { rows in
                    Remark(asked: "--load \(load.name)", obtained: "nothing for \(rows)", reason: "it calls no handler")
                }
        case .churn, .pending:
            return names(plan.rows.filter { !$0.subject.hasService })
                .map { rows in
                    Remark(
                        asked: "--load \(load.name)",
                        obtained: "nothing for \(rows)",
                        reason: "it is a load on the queue of a timer service, which only backends have"
                    )
                }
        }
    }

    private static func ofClock(_ plan: MeasurementPlan) -> Remark? {
        names(plan.rows.filter { $0.subject.isPeer && plan.clock != .suspending })
            .map { rows in
                Remark(
                    asked: "--clock \(plan.clock.rawValue)",
                    obtained: "suspending for \(rows)",
                    reason: "what is written without the library keeps to that one"
                )
            }
    }

    private static func ofDelivery(_ plan: MeasurementPlan) -> Remark? {
        names(plan.rows.filter { !$0.subject.runs(plan.delivery) })
            .map { rows in
                Remark(
                    asked: "--deliver \(plan.delivery.rawValue)",
                    obtained: "inline for \(rows)",
                    reason: "they tick on threads or tasks of their own"
                )
            }
    }

    private static func ofTimers(_ plan: MeasurementPlan) -> Remark? {
        names(plan.rows.filter { $0.subject == .referee && plan.timers > 1 })
            .map { rows in
                Remark(
                    asked: "--timers \(plan.timers)",
                    obtained: "1 for \(rows)",
                    reason: "it has a thread for each, where the other rows have one for all"
                )
            }
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

    /// The names of rows; nil where there are none.
    private static func names(_ rows: [Row]) -> String? {
        rows.isEmpty ? nil : rows.map(\.name).joined(separator: ", ")
    }
}

extension Row.Subject {
    fileprivate var isPeer: Bool { if case .peer = self { true } else { false } }

    fileprivate var hasService: Bool { if case .backend = self { true } else { false } }

    /// Whether its handlers can be had to run there.
    fileprivate func runs(_ place: HandlerPlace) -> Bool {
        switch self {
        case .backend: true
        case .peer(let peer): peer.runs(place)
        case .reference, .referee: place == .inline
        }
    }
}
