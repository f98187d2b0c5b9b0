/// Why the figures of two results cannot be compared, in one line; nil if they can.
extension Results {
    package func difference(from other: Results) -> String? {
        options.difference(from: other.options) ?? hostDifference(from: other)
    }

    /// Why two results are not of one machine that gave both the same, in one line; nil if they are.
    func hostDifference(from other: Results) -> String? {
        for host in hosts {
            for otherHost in other.hosts {
                if let difference = host.difference(from: otherHost) { return difference }
            }
        }
        return grants.difference(from: other.grants)
    }
}

extension Options {
    package func difference(from other: Options) -> String? {
        if period != other.period {
            return "a period of \(DurationText.format(nanoseconds: period)) and one of "
                + DurationText.format(nanoseconds: other.period)
        }
        if timers != other.timers { return "\(timers) timers and \(other.timers)" }
        if delivery != other.delivery { return "handlers delivered \(delivery) and \(other.delivery)" }
        if clock != other.clock { return "the \(clock) clock and the \(other.clock) clock" }
        return systemDifference(from: other)
    }

    private func systemDifference(from other: Options) -> String? {
        let (mine, others) = (system ?? [], other.system ?? [])
        if mine == others { return nil }
        let words = [mine, others].map { $0.isEmpty ? "no system options" : $0.joined(separator: " ") }
        return "\(words[0]) and \(words[1])"
    }
}

extension Host {
    /// Two kernels on one machine can be compared: a reader may want to see what a new kernel changed.
    package func difference(from other: Host) -> String? {
        if machine != other.machine { return "\(machine) and \(other.machine)" }
        if cpu != other.cpu { return "\(cpu ?? "an unnamed processor") and \(other.cpu ?? "an unnamed processor")" }
        if processors != other.processors { return "\(processors) processors and \(other.processors)" }
        if let (mine, others) = known(usableProcessors, other.usableProcessors) {
            return "\(mine) usable processors and \(others)"
        }
        if cpuQuota != other.cpuQuota {
            let limits = [cpuQuota, other.cpuQuota]
                .map { $0.map { "\(NumberText.fixed($0, places: 2)) processors" } ?? "none" }
            return "a limit of the control group of \(limits[0]) and of \(limits[1])"
        }
        if let (mine, others) = known(governor, other.governor) { return "the governors \(mine) and \(others)" }
        if let (mine, others) = known(clockSource, other.clockSource) {
            return "the clock sources \(mine) and \(others)"
        }
        if build != other.build { return "a \(build.rawValue) build and a \(other.build.rawValue) build" }
        return nil
    }

    /// Both facts, if both are known and differ.
    private func known<Fact: Equatable>(_ mine: Fact?, _ others: Fact?) -> (Fact, Fact)? {
        guard let mine, let others, mine != others else { return nil }
        return (mine, others)
    }
}
