internal import Dispatch

/// How the ticks of a timer reach its handler.
enum Destination: Sendable {
    /// The handler is called directly, on the alarm's thread.
    case inline
    /// On a Dispatch queue.
    case queue(DispatchQueue)
    /// In a task of its own: the handler is isolated to an actor, or may await.
    case task(TaskDestination)
    /// In a mailbox, for a task that asks for the ticks.
    case mailbox(TickMailbox)

    /// Whether an ordinary handler is called there.
    var isPlain: Bool {
        switch self {
        case .inline, .queue: true
        case .task, .mailbox: false
        }
    }

    /// Sends a hop on its way.
    func send(_ hop: Hop) {
        switch self {
        case .inline: hop.deliver()
        case .queue(let queue): queue.async { hop.deliver() }
        case .task(let tasks): tasks.send(hop)
        case .mailbox(let mailbox): mailbox.receive(hop)
        }
    }
}
