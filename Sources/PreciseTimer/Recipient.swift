/// The user's side of a timer: a target held weakly, and what to call with it.
protocol Recipient: Sendable {
    /// Whether the target still exists.
    var isAlive: Bool { get }

    /// Promotes the target for one call of the handler. Returns false, without a call, where the target is gone.
    func deliver(_ tick: PreciseTimer.Tick) -> Bool
}

/// The recipient of every form of timer; a timer without a target has its own handle as the target.
struct TargetRecipient<Target: AnyObject & Sendable>: Recipient {
    private weak let target: Target?
    private let handler: @Sendable (Target, PreciseTimer.Tick) -> Void

    init(target: Target, handler: @escaping @Sendable (Target, PreciseTimer.Tick) -> Void) {
        self.target = target
        self.handler = handler
    }

    var isAlive: Bool { target != nil }

    func deliver(_ tick: PreciseTimer.Tick) -> Bool {
        guard let target else { return false }
        handler(target, tick)
        return true
    }
}
