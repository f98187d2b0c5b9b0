internal import ArgumentParser
internal import HostSystem
internal import TimerResults

/// The command's own error: how it ends if it does not simply return.
struct Exit: Error {
    let code: ExitCode
    /// Printed on standard output: a help text.
    var output = ""
    /// Printed on standard error.
    var message = ""

    /// An option, a rule or a file makes no sense.
    static func invalid(_ reason: String) -> Exit { Exit(code: ExitCode(2), message: "error: \(OneLine.of(reason))") }

    /// A backend that the user named is missing.
    static func unavailable(_ name: String, _ reason: String) -> Exit {
        Exit(code: ExitCode(3), message: "error: \(name) is unavailable: \(OneLine.of(reason))")
    }

    /// A measurement ended without a result.
    static func failed(_ reason: String) -> Exit { Exit(code: .failure, message: "error: \(OneLine.of(reason))") }

    /// The user pressed Ctrl-C, which left some results.
    static func interrupted(leaving results: String) -> Exit {
        Exit(code: ExitCode(130), message: "stopped by Ctrl-C: \(results)")
    }

    /// The reader of the results has closed its pipe, and needs no message. SIGPIPE ends other programs with this code.
    static let unread = Exit(code: ExitCode(141))

    /// The exit for any error.
    init(for error: any Error) {
        let code = CompareBackends.exitCode(for: error)
        switch error {
        case let exit as Exit: self = exit
        case let problem as Problem: self = .invalid("\(problem)")
        case _ where code == .success: self.init(code: code, output: CompareBackends.fullMessage(for: error))
        case _ where code == .validationFailure: self = .invalid(CompareBackends.message(for: error))
        case is ExitCode: self.init(code: code)
        default: self.init(code: code, message: "error: \(OneLine.of(CompareBackends.message(for: error)))")
        }
    }

    private init(code: ExitCode, output: String = "", message: String = "") {
        self.code = code
        self.output = output
        self.message = message
    }

    /// Prints, and ends the process.
    func now() -> Never {
        if !output.isEmpty { print(output) }
        var console = Console()
        if !message.isEmpty { console.say(message) }
        CompareBackends.exit(withError: code)
    }
}

extension ExitCode {
    /// A rule is neither kept nor broken as far as the measurement can tell.
    static let undecided = ExitCode(4)
}

/// Text from the command line as one line that is safe to print.
enum OneLine {
    private static let longest = 300

    /// The text without line ends and control characters, cut after 300 characters.
    static func of(_ text: String) -> String {
        let clean = text.unicodeScalars.map { scalar -> Character in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: " "
            default: Character(scalar)
            }
        }
        return clean.count <= longest ? String(clean) : String(clean.prefix(longest)) + "…"
    }
}
