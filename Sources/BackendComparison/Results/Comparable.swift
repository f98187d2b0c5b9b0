/// Whether two measurements can be compared.
extension Results {
    /// Why two results are not of one question and machine, in a few words; nil if they are.
    func difference(from other: Results) -> String? {
        options.difference(from: other.options) ?? host.difference(from: other.host)
    }
}

extension Options {
    func difference(from other: Options) -> String? {
        if period != other.period {
            let periods = [self, other].map { DurationText.spaced(nanoseconds: $0.period) }
            return "a period of \(periods[0]) and one of \(periods[1])"
        }
        if timers != other.timers { return "\(timers) timers and \(other.timers)" }
        if delivery != other.delivery { return "handlers delivered \(delivery) and \(other.delivery)" }
        if clock != other.clock { return "the \(clock) clock and the \(other.clock) clock" }
        if thread != other.thread { return "threads with \(thread ?? "nothing") and with \(other.thread ?? "nothing")" }
        return nil
    }
}

extension Host {
    /// Why two machines are not the same one in the same state, in a few words. Two kernels on one machine can be
    /// compared: a reader may want to see what a new kernel changed.
    func difference(from other: Host) -> String? {
        func pair<Fact: Equatable>(_ fact: KeyPath<Host, Fact?>) -> (Fact, Fact)? {
            guard let mine = self[keyPath: fact], let others = other[keyPath: fact], mine != others else { return nil }
            return (mine, others)
        }
        if machine != other.machine { return "\(machine) and \(other.machine)" }
        if cpu != other.cpu { return "\(cpu ?? "an unnamed processor") and \(other.cpu ?? "an unnamed processor")" }
        if processors != other.processors { return "\(processors) processors and \(other.processors)" }
        if let (mine, others) = pair(\.usableProcessors) { return "\(mine) usable processors and \(others)" }
        if cpuQuota != other.cpuQuota {
            let limits = [cpuQuota, other.cpuQuota].map { $0.map { NumberText.fixed($0, places: 2) } ?? "none" }
            return "a processor quota of \(limits[0]) and of \(limits[1])"
        }
        if let (mine, others) = pair(\.governor) { return "the governors \(mine) and \(others)" }
        if let (mine, others) = pair(\.clockSource) { return "the clock sources \(mine) and \(others)" }
        return build == other.build ? nil : "a \(build.rawValue) build and a \(other.build.rawValue) build"
    }
}
