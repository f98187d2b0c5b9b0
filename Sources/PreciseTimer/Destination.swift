internal import Dispatch

/// Where the ticks of a timer go, and what is called there. The one thing of a timer that may hold what is the user's.
enum Destination: Sendable {
    /// On the alarm's thread.
    case inline(any Recipient)
    /// On a Dispatch queue.
    case queue(DispatchQueue, any Recipient)
    /// On the main actor.
    case mainActor(any Recipient)
    /// On the actor that is the target.
    case actor(any IsolatedRecipient)
    /// To a task that asks for them.
    case consumer(TickMailbox)

    /// What is called synchronously, on the thread that delivers.
    var recipient: (any Recipient)? {
        switch self {
        case .inline(let recipient), .queue(_, let recipient), .mainActor(let recipient): recipient
        case .actor, .consumer: nil
        }
    }

    /// What is called on the actor.
    var isolatedRecipient: (any IsolatedRecipient)? {
        if case .actor(let recipient) = self { recipient } else { nil }
    }

    /// The target, while it exists. Not to be released under a lock: it may be the last reference.
    var promotedTarget: (any AnyObject & Sendable)? {
        switch self {
        case .inline(let recipient), .queue(_, let recipient), .mainActor(let recipient): recipient.promoted
        case .actor(let recipient): recipient.actor
        case .consumer(let mailbox): mailbox
        }
    }

    /// How a tick gets there; nil where it is called at once, on the alarm's thread.
    var road: Road? {
        switch self {
        case .inline: nil
        case .queue(let queue, _): .queue(queue)
        case .mainActor: .mainActor
        case .actor: .task
        case .consumer(let mailbox): .mailbox(mailbox)
        }
    }
}

/// How a tick leaves the alarm's thread. Holds nothing that a cancel has to release.
enum Road: Sendable {
    case queue(DispatchQueue)
    case mainActor
    case task
    case mailbox(TickMailbox)

    /// Sends a hop on its way.
    func send(_ hop: Hop) {
        switch self {
        case .queue(let queue): queue.async { hop.deliver() }
        case .mainActor: Task { @MainActor in hop.deliver() }
        case .task: Task { await hop.deliverIsolated() }
        case .mailbox(let mailbox): mailbox.receive(hop)
        }
    }
}
