internal import PreciseTimer

/// The rows that there are, for those who want to choose.
package enum RowList {
    /// One line for each backend, peer and reference.
    package static var text: String {
        let backends = TimerService.Backend.allCases.map { backend in
            switch backend.availability {
            case .available: (backend.rawValue, "backend, available")
            case .unavailable(let reason): (backend.rawValue, "backend, unavailable: \(reason)")
            }
        }
        let peers = Peer.allCases.map { peer in
            switch peer.availability {
            case .available: (peer.rawValue, "peer, with --peers: \(peer.summary)")
            case .unavailable(let reason): (peer.rawValue, "peer, unavailable: \(reason)")
            }
        }
        let references = Reference.allCases.map { ($0.rawValue, "reference: \($0.summary)") }
        let referee =
            Cyclictest.path == nil
            ? "reference, not installed (it is in rt-tests)" : "reference, installed: \(Cyclictest.summary)"
        let rows = backends + peers + references + [(Cyclictest.name, referee)]
        let width = rows.map(\.0.count).max() ?? 0
        return
            rows.map { name, about in
                name + String(repeating: " ", count: width - name.count + 2) + about
            }
            .joined(separator: "\n")
    }
}
