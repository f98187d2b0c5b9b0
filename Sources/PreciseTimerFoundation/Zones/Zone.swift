internal import Foundation

/// A time zone, with the rules that its clocks follow.
package struct Zone: Sendable, CustomStringConvertible {
    /// Who says which offset counts.
    enum Rules: Sendable {
        case file(ZoneFile)
        case rule(ZoneRule)
        case foundation(TimeZone)
    }

    /// Why a zone cannot be used.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }

    private let name: String
    private let source: String
    private let rules: Rules

    init(name: String, source: String, _ rules: Rules) { (self.name, self.source, self.rules) = (name, source, rules) }

    /// A zone that this machine has no file of. A static linker takes Foundation's zones into a program only if
    /// something refers to that part of it, as the version does.
    init(_ zone: TimeZone) {
        let source = "Foundation, tzdata \(TimeZone.timeZoneDataVersion)"
        self.init(name: zone.identifier, source: source, .foundation(zone))
    }

    /// The name, and where the rules come from, as in `Europe/Berlin (system, tzdata 2025b)`.
    package var description: String { "\(name) (\(source))" }

    /// By how much the clocks are ahead of UTC at an instant in seconds since 1970, in seconds.
    package func offset(at second: Int) -> Int {
        switch rules {
        case .file(let file): file.offset(at: second)
        case .rule(let rule): rule.offset(at: second)
        case .foundation(let zone): zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second)))
        }
    }
}
