internal import Dispatch

/// How the ticks of a timer reach its handler.
enum Destination: Sendable {
    /// The handler is called directly, on the alarm's thread.
    case inline
    /// On a Dispatch queue.
    case queue(DispatchQueue)
    /// On the main actor, for an ordinary handler.
    case mainActor
    /// On the main actor, for a handler that is isolated to it.
    case mainActorTask
    /// On the actor that the handler is isolated to.
    case actor
    /// In a mailbox, for a task that asks for the ticks.
    case mailbox(TickMailbox)

    /// Sends a hop on its way.
    func send(_ hop: Hop) {
        switch self {
        case .inline: hop.deliver()
        case .queue(let queue): queue.async { hop.deliver() }
        // The main actor's jobs run on the main queue, and a block there costs less than a task.
        case .mainActor: DispatchQueue.main.async { hop.deliver() }
        // A task that starts on the main actor avoids the shared thread pool, which other tasks may keep busy.
        case .mainActorTask: Task { @MainActor in await hop.deliver(on: MainActor.shared) }
        case .actor: Task { await hop.deliverOnActor() }
        case .mailbox(let mailbox): mailbox.receive(hop)
        }
    }
}

extension PreciseTimer.Delivery {
    /// The engine's value for this delivery.
    var destination: Destination {
        switch self {
        case .inline: .inline
        case .queue(let queue): .queue(queue)
        case .mainActor: .mainActor
        }
    }
}
