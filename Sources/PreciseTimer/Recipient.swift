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

/// The user's side of a timer whose handler is isolated to an actor.
protocol IsolatedRecipient: AnyObject, Sendable {
    /// The target, while it exists. Not to be released under a lock: it may be the last reference.
    var promoted: (any AnyObject & Sendable)? { get }

    /// The actor that the handler runs on; nil if that is the target, and is gone. Not to be released under a lock either.
    var actor: (any Actor)? { get }

    /// Whether that actor is the main actor. Asked under the service's lock, so it promotes nothing.
    var isOnMainActor: Bool { get }

    /// Calls the handler, on the actor. Returns false, without a call, if the target is gone.
    func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool
}

/// An actor as the target, and a handler that is isolated to it.
final class ActorRecipient<Target: Actor>: IsolatedRecipient {
    typealias Handler = @Sendable (isolated Target, PreciseTimer.Tick) async -> Void

    private weak let target: Target?
    private let handler: Handler
    let isOnMainActor = false

    init(target: Target, handler: @escaping Handler) {
        self.target = target
        self.handler = handler
    }

    var promoted: (any AnyObject & Sendable)? { target }
    var actor: (any Actor)? { target }

    func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool {
        guard let target else { return false }
        await handler(target, tick)
        return true
    }
}

/// A target, and a handler that is isolated to an actor other than the target, as the main actor.
final class IsolatedTargetRecipient<Target: AnyObject & Sendable>: IsolatedRecipient {
    typealias Handler = @isolated(any) @Sendable (Target, PreciseTimer.Tick) -> Void

    private weak let target: Target?
    let actor: (any Actor)?
    private let handler: Handler
    let isOnMainActor: Bool

    /// - Parameters:
    ///   - target: the target, held weakly.
    ///   - isolation: the actor of the handler.
    ///   - handler: called with the target.
    init(target: Target, isolation: any Actor, handler: @escaping Handler) {
        self.target = target
        actor = isolation
        self.handler = handler
        isOnMainActor = isolation is MainActor
    }

    var promoted: (any AnyObject & Sendable)? { target }

    func deliver(_ tick: PreciseTimer.Tick, on actor: isolated any Actor) async -> Bool {
        guard let target else { return false }
        // No suspension: the caller is on the actor already.
        await handler(target, tick)
        return true
    }
}
