internal import Foundation

/// What limits the precision of timers on a machine, judged by its facts alone.
extension MachineFacts {
    /// One finding for each property, in the same order for each machine.
    var findings: [MachineFinding] {
        let verdicts: [(String, MachineVerdict?)] = [
            ("clock source", sourceVerdict), ("clock reading", readingVerdict), ("timer resolution", resolutionVerdict),
            ("virtual machine", guestVerdict), ("stolen time", stolenVerdict), ("other programs", othersVerdict),
            ("frequency governor", governorVerdict), ("idle states", idleVerdict),
            ("idle latency limit", idleLimitVerdict), ("hyper-threading", siblingsVerdict),
            ("preemption", preemptionVerdict), ("timer slack", slackVerdict), ("slice", sliceVerdict),
            ("real-time throttling", throttlingVerdict), ("isolated processors", isolationVerdict),
            ("processors", processorsVerdict), ("processor quota", quotaVerdict),
            ("real-time priority", realTimeVerdict), ("memory locking", lockedMemoryVerdict),
            ("time zone", zone?.verdict),
        ]
        return verdicts.map { MachineFinding($0, $1) }
    }

    /// The number of findings that limit precision, of those that differ, and of those that the kernel does not show.
    var summary: String {
        let findings = findings
        func count(_ level: MachineFinding.Level) -> Int { findings.count { $0.level == level } }
        let (limits, unknown) = (count(.limits), count(.unknown))
        let differing = findings.filter { $0.level == .differs }.map { " The \($0.name) differs." }.joined()
        let hidden = unknown == 0 ? "" : unknown == 1 ? " 1 is unknown." : " \(unknown) are unknown."
        return "\(limits) of \(findings.count) \(limits == 1 ? "limits" : "limit") precision here.\(differing)\(hidden)"
    }
}

/// One property of a machine, and what it means for timers.
struct MachineFinding: Hashable, Sendable {
    /// What a property means for precision: nothing to improve; usual, though a machine that is set up for real-time
    /// work is better; timers are later because of it; two parts of the system differ, and timers are on time; not
    /// shown by the kernel.
    enum Level: String, CaseIterable, Sendable { case good, usual, limits, differs, unknown }

    /// The property.
    let name: String
    let level: Level
    /// What the machine shows, in a few words.
    let found: String
    /// What to do about it, in one sentence; nil if there is nothing to do, or nothing known.
    let advice: String?

    fileprivate init(_ name: String, _ verdict: MachineVerdict?) {
        self.name = name
        (level, found, advice) = verdict ?? (.unknown, "not shown here", nil)
    }
}

/// A finding without its name.
typealias MachineVerdict = (level: MachineFinding.Level, found: String, advice: String?)

/// The C library's time zone beside Foundation's, for a year.
///
/// The C library reads the zone files of the system. Foundation has rules of its own compiled in, and needs the name of
/// the zone. So the two may differ: now, or from some change of the clocks on.
struct ZoneComparison: Hashable, Sendable {
    /// An instant at which the two differ.
    struct Difference: Hashable, Sendable {
        /// In seconds since 1970.
        let instant: Int
        /// What each of them says, in seconds east of UTC.
        let system, foundation: Int
    }

    /// In seconds since 1970.
    let start: Int
    /// The C library's offset at the start, in seconds east of UTC.
    let offset: Int
    /// Foundation's name of its zone: a guess if it does not find the system's.
    let name: String
    /// Whether the system has this name for its zone.
    let isNamed: Bool
    /// The first instant of the year at which the two differ; nil if they never do.
    let difference: Difference?

    /// Compares the offset that each function has for an instant, in seconds since 1970, until the two differ. That is
    /// 35,000 calls of each function if they do not. Nil if the C library does not know an offset.
    init?(from start: Int, name: String, isNamed: Bool, system: (Int) -> Int?, foundation: (Int) -> Int) {
        guard let offset = system(start) else { return nil }
        (self.start, self.offset, self.name, self.isNamed) = (start, offset, name, isNamed)
        // Every zone changes its offset on a quarter hour of UTC. So no difference of two zones is shorter.
        let (quarter, year) = (900, 366 * 86_400)
        let quarters = stride(from: start - start % quarter, through: start + year, by: quarter)
        for instant in quarters.lazy.map({ max($0, start) }) {
            guard let system = system(instant) else { return nil }
            let foundation = foundation(instant)
            guard system == foundation else {
                difference = Difference(instant: instant, system: system, foundation: foundation)
                return
            }
        }
        difference = nil
    }

    var verdict: MachineVerdict {
        let beginning = "UTC\(Self.text(offset))"
        guard let difference else { return (.good, "\(beginning), as in Foundation (\(name)) for a year", nil) }
        let there = "in Foundation UTC\(Self.text(difference.foundation))"
        if difference.instant == start { return (.differs, "\(beginning), \(there) (\(name))", advice) }
        let instant = Date(timeIntervalSince1970: Double(difference.instant)).formatted(.iso8601)
        let later = "then UTC\(Self.text(difference.system)), \(there)"
        return (.differs, "\(beginning), as in Foundation (\(name)) until \(instant); \(later)", advice)
    }

    private var advice: String {
        let (rules, remedy) = (
            "and calendar timers the system's files, if any", "bring tzdata and Swift up to date"
        )
        let advice = "calendar timers do not: set TZ to it, or make /etc/localtime a link"
        return isNamed
            ? "Foundation's dates follow its own rules, \(rules): \(remedy)."
            : "Foundation's dates need the zone's name, \(advice)."
    }

    /// An offset as ISO 8601 has it: `+05:45`. Only a rule in TZ may have seconds.
    private static func text(_ offset: Int) -> String {
        let parts = [offset.magnitude / 3600, offset.magnitude / 60 % 60, offset.magnitude % 60]
        let shown = parts[2] == 0 ? parts.dropLast() : parts[...]
        return (offset < 0 ? "-" : "+") + shown.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
