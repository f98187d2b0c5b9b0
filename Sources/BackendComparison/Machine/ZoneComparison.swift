internal import Foundation
internal import Glibc
internal import PreciseTimer

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

extension ZoneComparison {
    /// The zones of this process, for a year from now. Takes 10 ms.
    static var current: ZoneComparison? {
        let (system, foundation) = (LocalZone(), TimeZone.current)
        let link = "/etc/localtime"
        let name =
            ProcessInfo.processInfo.environment["TZ"]
            ?? (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? ""
        return ZoneComparison(
            from: Int(TimerClock.wall.nanoseconds / 1_000_000_000),
            name: foundation.identifier,
            isNamed: "/\(name)".hasSuffix("/\(foundation.identifier)"),
            system: system.offset,
            foundation: { foundation.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0))) }
        )
    }
}

/// The time zone of the C library (tzset(3)): that of TZ in each of its forms, or else that of /etc/localtime.
private struct LocalZone: Sendable {
    /// Has the C library look at TZ and /etc/localtime.
    init() { tzset() }

    /// Seconds east of UTC at an instant, in seconds since 1970; nil if the C library has no local time for it.
    func offset(at instant: Int) -> Int? {
        var instant = instant
        var time = unsafe tm()
        return unsafe localtime_r(&instant, &time) == nil ? nil : time.tm_gmtoff
    }
}
