internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerReport
internal import TimerResults

/// Says what limits precision on this machine. `List` names the rows that can be measured here.
struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say what limits the precision of timers here, and what to do about it.",
        discussion: """
            Looks at the clock, the processors, the kernel and the rights of this process. It changes nothing, and \
            takes less than a second. Run it as the user, and in the container, that your program has.

            Each finding is one of these:
              good     there is nothing to improve
              usual    as on most machines; one set up for real-time work is better
              limits   timers are later because of it
              unknown  the kernel does not show it here

            The exit code is 0 whatever it finds.
            """
    )

    func run() throws {
        var console = Console()
        let diagnosis = Diagnosis(of: .current)
        try console.print(
            DiagnosisTable(diagnosis, width: console.width, inColour: console.hasColour).description
        )
    }
}

/// Lists all rows.
struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the backends, peers and references.")

    func run() throws {
        var console = Console()
        try console.print(Self.text)
    }

    /// What a name does not say; empty for most backends.
    private static func about(_ backend: TimerService.Backend) -> String {
        backend == .hybrid ? ": a timerfd that fires early, and a thread that then spins until the deadline" : ""
    }

    private static var text: String {
        let backends = TimerService.Backend.allCases.map { backend in
            switch backend.availability {
            case .available: [backend.rawValue, "backend, available\(about(backend))"]
            case .unavailable(let reason): [backend.rawValue, "backend, unavailable: \(reason)"]
            }
        }
        let peers = Peer.allCases.map { peer in
            switch peer.availability {
            case .available: [peer.rawValue, "peer, with --peers: \(peer.summary)"]
            case .unavailable(let reason): [peer.rawValue, "peer, unavailable: \(reason)"]
            }
        }
        let references = Reference.allCases.map { [$0.rawValue, "reference: \($0.summary)"] }
        let cyclictest = [
            RowKey.cyclictest,
            "reference, \(Cyclictest.obstacle ?? "installed: \(Cyclictest.summary)")",
        ]
        let columns = [TextColumns.Column(), TextColumns.Column()]
        return TextColumns(columns, backends + peers + references + [cyclictest]).lines.joined(separator: "\n")
    }
}
