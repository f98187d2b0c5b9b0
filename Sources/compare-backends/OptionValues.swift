internal import ArgumentParser
internal import PreciseTimer

/// How the results are printed.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case table
    case json
}

/// Why the value of an option makes no sense.
struct BadValue: Error, CustomStringConvertible {
    let description: String
}

/// The value of --backends.
enum BackendNames {
    /// Names with commas between them; one that is there twice counts once.
    static func parse(_ text: String) throws -> [TimerService.Backend] {
        var backends: [TimerService.Backend] = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let backend = TimerService.Backend(rawValue: String(name)) else {
                let known = TimerService.Backend.allCases.map(\.rawValue).joined(separator: ", ")
                throw BadValue(description: "the backends are \(known)")
            }
            if !backends.contains(backend) { backends.append(backend) }
        }
        return backends
    }
}

/// The value of --rounds.
enum RoundNumber {
    /// A whole number; whether there may be so many rounds is for the plan to say.
    static func parse(_ text: String) throws -> Int {
        guard let rounds = Int(text) else { throw BadValue(description: "write a whole number, as in 3") }
        return rounds
    }
}
