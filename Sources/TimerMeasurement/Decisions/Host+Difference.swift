extension Host {
    /// In what two machines differ that makes their figures incomparable, in a line; nil where they do not. A new kernel on
    /// the same machine is what one may well want to compare.
    package func difference(from other: Host) -> String? {
        if machine != other.machine { return "\(machine) and \(other.machine)" }
        if cpu != other.cpu { return "\(cpu ?? "an unnamed processor") and \(other.cpu ?? "an unnamed processor")" }
        if processors != other.processors { return "\(processors) processors and \(other.processors)" }
        if build != other.build { return "a \(build.rawValue) build and a \(other.build.rawValue) build" }
        return nil
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
