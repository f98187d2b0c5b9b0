/// A timer with a target, which is held weakly, and an ordinary handler.
class TargetRecord<Target: AnyObject & Sendable>: TimerRecord, @unchecked Sendable {
    // Set once: at the latest before a service knows of the timer.
    final weak var weakTarget: Target?
    private final var handler: (@Sendable (Target, PreciseTimer.Tick) -> Void)?

    init(
        _ request: borrowing TimerRequest,
        _ destination: Destination,
        target: Target?,
        handler: @escaping @Sendable (Target, PreciseTimer.Tick) -> Void
    ) {
        weakTarget = target
        self.handler = handler
        super.init(request, destination)
    }

    final override var target: (any AnyObject & Sendable)? { weakTarget }

    final override func deliver(_ tick: PreciseTimer.Tick) -> Bool {
        guard let target = weakTarget, let handler else { return false }
        handler(target, tick)
        return true
    }

    final override func releaseHandler() { handler = nil }
}

/// A timer whose target is its handle.
final class HandleRecord: TargetRecord<PreciseTimer>, @unchecked Sendable {
    override var handleIsTarget: Bool { true }
}

/// A timer with a target, and a handler that is isolated to another actor, as the main actor.
class IsolatedTargetRecord<Target: AnyObject & Sendable>: TimerRecord, @unchecked Sendable {
    typealias Handler = @isolated(any) @Sendable (Target, PreciseTimer.Tick) -> Void

    // Set once: at the latest before a service knows of the timer.
    final weak var weakTarget: Target?
    private final let isolation: any Actor
    private final var handler: Handler?

    init(_ request: borrowing TimerRequest, target: Target?, isolation: any Actor, handler: @escaping Handler) {
        weakTarget = target
        self.isolation = isolation
        self.handler = handler
        super.init(request, isolation is MainActor ? .mainActorTask : .actor)
    }

    final override var target: (any AnyObject & Sendable)? { weakTarget }
    final override var actor: (any Actor)? { isolation }

    final override func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool {
        guard let target = weakTarget, let handler else { return false }
        // No suspension: the caller is on the actor already.
        await handler(target, tick)
        return true
    }

    final override func releaseHandler() { handler = nil }
}

/// A timer whose target is its handle, and whose handler is isolated to an actor.
final class IsolatedHandleRecord: IsolatedTargetRecord<PreciseTimer>, @unchecked Sendable {
    override var handleIsTarget: Bool { true }
}

/// A timer whose target is an actor, to which its handler is isolated.
final class ActorRecord<Target: Actor>: TimerRecord, @unchecked Sendable {
    typealias Handler = @Sendable (isolated Target, PreciseTimer.Tick) async -> Void

    private weak let weakTarget: Target?
    private var handler: Handler?

    init(_ request: borrowing TimerRequest, target: Target, handler: @escaping Handler) {
        weakTarget = target
        self.handler = handler
        super.init(request, .actor)
    }

    override var target: (any AnyObject & Sendable)? { weakTarget }
    override var actor: (any Actor)? { weakTarget }

    override func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool {
        guard let target = weakTarget, let handler else { return false }
        await handler(target, tick)
        return true
    }

    override func releaseHandler() { handler = nil }
}

/// A timer whose ticks a task takes out of a mailbox.
final class MailboxRecord: TimerRecord, @unchecked Sendable {
    private let mailbox: TickMailbox

    init(_ request: borrowing TimerRequest, _ mailbox: TickMailbox) {
        self.mailbox = mailbox
        super.init(request, .mailbox(mailbox))
    }

    override var target: (any AnyObject & Sendable)? { mailbox }
}
