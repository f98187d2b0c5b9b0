package import PreciseTimer
internal import TimerCore

/// What is measured: a backend of the library, what one would write without it, or what there is below either.
package struct Row: Hashable, Sendable {
    /// Who ticks.
    package enum Subject: Hashable, Sendable {
        case backend(TimerService.Backend)
        case peer(Peer)
        case reference(Reference)
        /// cyclictest, a program that measures by itself.
        case referee
    }

    /// Who ticks.
    package let subject: Subject
    /// Which of several equal rows it is, from 1.
    package let number: Int

    package init(_ subject: Subject, number: Int = 1) {
        self.subject = subject
        self.number = number
    }

    /// The name in tables, in JSON and on the command line.
    package var name: String {
        let name =
            switch subject {
            case .backend(let backend): backend.rawValue
            case .peer(let peer): peer.rawValue
            case .reference(let reference): reference.rawValue
            case .referee: Cyclictest.name
            }
        return number == 1 ? name : "\(name)#\(number)"
    }

    /// Whether the library is in it.
    package var kind: Case.Kind {
        switch subject {
        case .backend: .backend
        case .peer: .peer
        case .reference, .referee: .reference
        }
    }

    /// The rows of some backends; one that is named again is a row again, for a comparison with itself.
    package static func of(_ backends: [TimerService.Backend]) -> [Row] {
        backends.enumerated()
            .map { position, backend in
                Row(.backend(backend), number: backends[...position].filter { $0 == backend }.count)
            }
    }
}

extension Row {
    /// What its deadlines are instants of: peers know of no clock but the one that suspends.
    func clock(asked: TimerClock) -> TimerClock {
        if case .peer = subject { .suspending } else { asked }
    }

    /// Why it cannot be measured like this; nil where it can.
    func obstacle(period: UInt64, clock: TimerClock) -> String? {
        switch subject {
        case .backend, .reference: nil
        case .peer(let peer): peer.obstacle(period: period)
        case .referee: Cyclictest.obstacle(period: period, clock: clock)
        }
    }

    /// Nanoseconds that it has to be started before the first deadline, beyond what every row is.
    func lead(period: UInt64) -> UInt64 {
        if case .peer(let peer) = subject { peer.lead(period: period) } else { 0 }
    }
}
