internal import ArgumentParser
internal import PreciseTimer
internal import TimerProbe
internal import TimerReport
internal import TimerResults

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
