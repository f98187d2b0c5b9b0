/// A timer with a weakly held target and an ordinary handler.
@safe
final class TargetRecord: TimerRecord, @unchecked Sendable {
    /// The handler, in a struct, because a bare closure would be wrapped when its type changes.
    private struct Handler<Target: AnyObject>: Sendable {
        let call: @Sendable (Target, PreciseTimer.Tick) -> Void
    }

    private weak let weakTarget: AnyObject?
    @safe @exclusivity(unchecked) private var handler: Handler<AnyObject>?

    /// The target's type is erased here, which saves a metadata look-up for each timer. The cast is sound: a
    /// reference is passed in the same way for every class, and the handler is only ever called with this target.
    init<Target: AnyObject & Sendable>(
        _ request: borrowing TimerRequest,
        _ destination: Destination,
        target: __shared Target,
        handler: @escaping @Sendable (Target, PreciseTimer.Tick) -> Void
    ) {
        weakTarget = target
        self.handler = unsafe unsafeBitCast(Handler(call: handler), to: Handler<AnyObject>.self)
        super.init(request, destination)
    }

    override var target: AnyObject? { weakTarget }

    override func deliver(_ tick: () -> PreciseTimer.Tick) -> Bool {
        guard let target = weakTarget, let handler else { return false }
        handler.call(target, tick())
        return true
    }

    override func releaseHandler() { handler = nil }
}

/// A timer whose target is its handle, with an ordinary handler.
final class HandleRecord: TimerRecord, @unchecked Sendable {
    private weak var handle: PreciseTimer?
    private var handler: (@Sendable (PreciseTimer, PreciseTimer.Tick) -> Void)?

    init(
        _ request: borrowing TimerRequest,
        _ destination: Destination,
        handler: @escaping @Sendable (PreciseTimer, PreciseTimer.Tick) -> Void
    ) {
        self.handler = handler
        super.init(request, destination)
    }

    override var target: AnyObject? { handle }
    override var handleIsTarget: Bool { true }
    override func adopt(_ handle: PreciseTimer) { self.handle = handle }

    override func deliver(_ tick: () -> PreciseTimer.Tick) -> Bool {
        guard let handle, let handler else { return false }
        handler(handle, tick())
        return true
    }

    override func releaseHandler() { handler = nil }
}

/// A timer with a target, and a handler that is isolated to another actor, such as the main actor.
class IsolatedTargetRecord<Target: AnyObject & Sendable>: TimerRecord, @unchecked Sendable {
    typealias Handler = @isolated(any) @Sendable (Target, PreciseTimer.Tick) -> Void

    // Set once, before a service knows the timer.
    fileprivate final weak var weakTarget: Target?
    private final let isolation: any Actor
    private final var handler: Handler?

    init(_ request: borrowing TimerRequest, target: Target?, isolation: any Actor, handler: @escaping Handler) {
        weakTarget = target
        self.isolation = isolation
        self.handler = handler
        super.init(request, isolation is MainActor ? .mainActorTask : .actor)
    }

    final override var target: AnyObject? { weakTarget }
    final override var actor: (any Actor)? { isolation }

    final override func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool {
        guard let target = weakTarget, let handler else { return false }
        // Does not suspend: the caller is on the actor already.
        await handler(target, tick)
        return true
    }

    final override func releaseHandler() { handler = nil }
}

/// A timer whose target is its handle, and whose handler is isolated to an actor.
final class IsolatedHandleRecord: IsolatedTargetRecord<PreciseTimer>, @unchecked Sendable {
    override var handleIsTarget: Bool { true }
    override func adopt(_ handle: PreciseTimer) { weakTarget = handle }
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

    override var target: AnyObject? { weakTarget }
    override var actor: (any Actor)? { weakTarget }

    override func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool {
        guard let target = weakTarget, let handler else { return false }
        await handler(target, tick)
        return true
    }

    override func releaseHandler() { handler = nil }
}

/// A timer whose ticks a task takes from a mailbox.
final class MailboxRecord: TimerRecord, @unchecked Sendable {
    private let mailbox: TickMailbox

    init(_ request: borrowing TimerRequest, _ mailbox: TickMailbox) {
        self.mailbox = mailbox
        super.init(request, .mailbox(mailbox))
    }

    override var target: AnyObject? { mailbox }
}
