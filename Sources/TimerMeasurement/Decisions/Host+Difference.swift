extension Host {
    /// In what two machines differ that makes their figures incomparable, in a line; nil where they do not. A new kernel on
    /// the same machine is what one may well want to compare.
    package func difference(from other: Host) -> String? {
        if machine != other.machine { return "\(machine) and \(other.machine)" }
        if cpu != other.cpu { return "\(cpu ?? "an unnamed processor") and \(other.cpu ?? "an unnamed processor")" }
        if processors != other.processors { return "\(processors) processors and \(other.processors)" }
        if let (mine, others) = known(usableProcessors, other.usableProcessors) {
            return "\(mine) processors that may be used and \(others)"
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

    /// Both of two facts, where both are known and differ.
    private func known<Fact: Equatable>(_ mine: Fact?, _ others: Fact?) -> (Fact, Fact)? {
        guard let mine, let others, mine != others else { return nil }
        return (mine, others)
    }
}

extension Results {
    /// In what two results differ that makes their figures incomparable, in a line; nil where they do not.
    package func difference(from other: Results) -> String? {
        if let difference = options.difference(from: other.options) { return difference }
        for host in hosts {
            for otherHost in other.hosts {
                if let difference = host.difference(from: otherHost) { return difference }
            }
        }
        return nil
    }
}
