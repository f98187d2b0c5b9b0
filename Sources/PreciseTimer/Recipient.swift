internal import TimerAlarms
internal import TimerCore

/// The user's side of a timer: a target held weakly, and what to call with it.
protocol Recipient: AnyObject, Sendable {
    /// The target, while it exists. Not to be released under a lock: it may be the last reference.
    var promoted: (any AnyObject & Sendable)? { get }

    /// Promotes the target for one call of the handler. Returns false, without a call, where the target is gone.
    func deliver(_ tick: PreciseTimer.Tick) -> Bool
}

/// A target and a handler that is called with it; a timer without a target has its own handle as the target.
final class TargetRecipient<Target: AnyObject & Sendable>: Recipient {
    private weak let target: Target?
    private let handler: @Sendable (Target, PreciseTimer.Tick) -> Void

    init(target: Target, handler: @escaping @Sendable (Target, PreciseTimer.Tick) -> Void) {
        self.target = target
        self.handler = handler
    }

    var promoted: (any AnyObject & Sendable)? { target }

    func deliver(_ tick: PreciseTimer.Tick) -> Bool {
        guard let target else { return false }
        handler(target, tick)
        return true
    }
}

/// The user's side of a timer whose target is an actor.
protocol IsolatedRecipient: AnyObject, Sendable {
    /// The actor, while it exists.
    var actor: (any Actor)? { get }

    /// Calls the handler, on the actor.
    func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async
}

/// An actor, and a handler that is isolated to it.
final class ActorRecipient<Target: Actor>: IsolatedRecipient {
    typealias Handler = @Sendable (isolated Target, PreciseTimer.Tick) async -> Void

    private weak let target: Target?
    private let handler: Handler

    init(target: Target, handler: @escaping Handler) {
        self.target = target
        self.handler = handler
    }

    var actor: (any Actor)? { target }

    func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async {
        if let target { await handler(target, tick) }
    }
}
