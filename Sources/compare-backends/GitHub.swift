internal import FoundationEssentials
internal import HostSystem
internal import TimerReport
internal import TimerResults

/// What GitHub's runners understand: a summary of the job, and lines that become annotations.
///
/// Source: GitHub's documentation, "Workflow commands for GitHub Actions".
struct GitHub {
    /// The variable that names the file of the job's summary.
    static let summaryVariable = "GITHUB_STEP_SUMMARY"

    private let environment = ProcessInfo.processInfo.environment

    /// Whether the command runs on such a runner.
    var isHere: Bool { environment["GITHUB_ACTIONS"] == "true" }

    /// Appends the results to the summary of the job, if there is one. A summary that cannot be written is not worth
    /// the results of a measurement.
    func summarize(_ report: Report, _ console: inout Console) {
        guard let path = environment[Self.summaryVariable], !path.isEmpty else { return }
        do {
            try OutputFile(path).appendAtEnd(MarkdownTable(report).description + "\n\n")
        } catch {
            console.say("note: the summary of the job lacks the results: \(error)")
        }
    }

    /// A line that becomes an annotation.
    func annotation(of finding: Judgement.Finding) -> String? {
        guard isHere else { return nil }
        return switch finding.outcome {
        case .pass: nil
        case .undecided: "::warning title=compare-backends::\(Self.escaped(finding.line))"
        case .fail: annotation(ofError: finding.line)
        }
    }

    /// A line that becomes the annotation of an error.
    func annotation(ofError line: String) -> String? {
        isHere ? "::error title=compare-backends::\(Self.escaped(line))" : nil
    }

    private static func escaped(_ line: String) -> String {
        line.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }
}
