internal import ArgumentParser
internal import TimerMeasurement

/// A backend that was asked for by name and is not there.
struct UnavailableBackend: Error {
    let name: String
    let reason: String
}

/// A measurement that ended without a result.
struct Failed: Error {
    let reason: String
}

/// Ctrl-C.
struct Interrupted: Error {
    /// What came of it: `partial results`.
    let results: String
}

/// How the command ends when it does not simply return.
struct Exit {
    private let code: ExitCode
    private let output: String
    private let complaint: String
    private let note: String

    /// The ending that an error asks for.
    init(for error: any Error) {
        let code = CompareBackends.exitCode(for: error)
        switch error {
        case let error as UnavailableBackend:
            self.init(code: ExitCode(3), complaint: "\(error.name) is unavailable: \(error.reason)")
        case let error as Failed:
            self.init(code: .failure, complaint: error.reason)
        case let error as Interrupted:
            self.init(code: ExitCode(130), note: "stopped by Ctrl-C: \(error.results)")
        case is Rule.Problem:
            self.init(code: ExitCode(2), complaint: "\(error)")
        case _ where code == .success:
            self.init(code: code, output: CompareBackends.fullMessage(for: error))
        case _ where code == .validationFailure:
            self.init(code: ExitCode(2), complaint: CompareBackends.message(for: error))
        default:
            self.init(code: code, complaint: CompareBackends.message(for: error))
        }
    }

    private init(code: ExitCode, output: String = "", complaint: String = "", note: String = "") {
        self.code = code
        self.note = note
        self.output = output
        self.complaint = complaint
    }

    /// Says what there is to say, and ends the process.
    func now() -> Never {
        if !output.isEmpty { print(output) }
        var console = Console()
        if !complaint.isEmpty { console.say("error: \(OneLine.of(complaint))") }
        if !note.isEmpty { console.say(note) }
        CompareBackends.exit(withError: code)
    }
}

/// Text from the command line as one line that is safe to print.
enum OneLine {
    /// More than this is nobody's message.
    private static let longest = 300

    /// The text without line ends and control characters, and not endlessly long.
    static func of(_ text: String) -> String {
        let clean = text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .lineSeparator
                || scalar.properties.generalCategory == .paragraphSeparator ? " " : Character(scalar)
        }
        return clean.count <= longest ? String(clean) : String(clean.prefix(longest)) + "…"
    }
}
