/// Whether two measurements can be compared.
extension Results {
    /// Why two results are not of one question, or not of one machine in one state, in a few words; nil if they are.
    /// Two kernels on one machine can be compared: a reader may want to see what a new kernel changed.
    func difference(from other: Results) -> String? {
        func quota(_ results: Results) -> String {
            results.host.cpuQuota.map { NumberText.fixed($0, places: 2) } ?? "none"
        }
        // What one of them does not know does not differ.
        let facts: [(name: String, of: (Results) -> String?)] = [
            ("the period", { DurationText.spaced(nanoseconds: $0.options.period) }),
            ("the timers", { "\($0.options.timers)" }), ("the place of the handlers", { $0.options.delivery }),
            ("the clock", { $0.options.clock }), ("the threads", { $0.options.thread ?? "nothing asked" }),
            ("the machine", { $0.host.machine }), ("the processor", { $0.host.cpu ?? "without a name" }),
            ("the processors", { "\($0.host.processors)" }),
            ("the usable processors", { $0.host.usableProcessors.map(String.init) }), ("the quota", quota),
            ("the governor", { $0.host.governor }), ("the clock source", { $0.host.clockSource }),
            ("the build", { $0.host.build.rawValue }),
        ]
        for (name, value) in facts {
            guard let own = value(self), let others = value(other), own != others else { continue }
            return "\(name): \(own) and \(others)"
        }
        return nil
    }
}
