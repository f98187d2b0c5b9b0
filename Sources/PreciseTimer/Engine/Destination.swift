internal import Dispatch

/// Where the ticks of a timer go.
enum Destination: Sendable {
    /// Nowhere: the handler is called on the alarm's thread.
    case inline
    /// To a Dispatch queue.
    case queue(DispatchQueue)
    /// To the main actor, to an ordinary handler.
    case mainActor
    /// To a handler that is isolated to the main actor.
    case mainActorTask
    /// To the actor that the handler is isolated to.
    case actor
    /// To a task that asks for them.
    case mailbox(TickMailbox)

    /// Sends a hop on its way.
    func send(_ hop: Hop) {
        switch self {
        case .inline: hop.deliver()
        case .queue(let queue): queue.async { hop.deliver() }
        // The main actor's jobs run on the main queue, and a block there costs less than a task.
        case .mainActor: DispatchQueue.main.async { hop.deliver() }
        // Straight there, and not by way of the threads that other tasks may keep busy.
        case .mainActorTask: Task { @MainActor in await hop.deliver(on: MainActor.shared) }
        case .actor: Task { await hop.deliverOnActor() }
        case .mailbox(let mailbox): mailbox.receive(hop)
        }
    }
}

extension PreciseTimer.Delivery {
    /// The same for the engine.
    var destination: Destination {
        switch self {
        case .inline: .inline
        case .queue(let queue): .queue(queue)
        case .mainActor: .mainActor
        }
    }
}
