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

    // An option or a file makes no sense; a measurement failed; this machine or build has not what the user asked for.
    static func invalid(_ reason: String) -> Exit { Exit(2, reason) }
    static func failed(_ reason: String) -> Exit { Exit(1, reason) }
    static func refused(_ reason: String) -> Exit { Exit(3, reason) }

    /// A signal ended the measurement, which left some results. A shell shows the end by a signal as this code.
    static func interrupted(by signal: Int32, leaving results: String) -> Exit {
        let name = [1: "SIGHUP", 2: "Ctrl-C", 15: "SIGTERM"][signal] ?? "signal \(signal)"
        return Exit(code: ExitCode(128 + signal), message: "stopped by \(name): \(results)")
    }

    /// The reader of the results has closed its pipe, and needs no message. SIGPIPE ends other programs with this code.
    static let unread = Exit(code: ExitCode(141))

    /// The exit for any error.
    init(for error: any Error) {
        let code = CompareBackends.exitCode(for: error)
        switch error {
        case let exit as Exit: self = exit
        case let problem as Problem: self = .invalid("\(problem)")
        case let error as SystemError: self = .failed("\(error)")
        case _ where code == .success: self.init(code: code, output: CompareBackends.fullMessage(for: error))
        case _ where code == .validationFailure: self = .invalid(CompareBackends.message(for: error))
        case is ExitCode: self.init(code: code)
        default: self = Exit(code.rawValue, CompareBackends.message(for: error))
        }
    }

    /// An error in one line that is safe to print: without control characters, and cut after 300 others.
    private init(_ code: Int32, _ reason: String) {
        let clean = reason.inOneLine
        self.init(code: ExitCode(code), message: "error: \(clean.count <= 300 ? clean : clean.prefix(300) + "…")")
    }

    private init(code: ExitCode, output: String = "", message: String = "") {
        (self.code, self.output, self.message) = (code, output, message)
    }

    /// Prints, and ends the process.
    func now() -> Never {
        if !output.isEmpty { print(output) }
        var console = Console()
        if !message.isEmpty { console.say(message) }
        CompareBackends.exit(withError: code)
    }
}
