package import PreciseTimer
package import TimerResults

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
