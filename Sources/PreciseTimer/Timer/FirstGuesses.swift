// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What people write first who know other timers. Each line refuses it, and the compiler says what to write instead.

extension PreciseTimer {
    @available(*, unavailable, renamed: "cancel()")
    public func invalidate() { never() }
    @available(*, unavailable, renamed: "cancel()")
    public func stop() { never() }
    @available(*, unavailable, message: "a timer runs from its schedule on; pass `paused: true`, and call resume()")
    public func start() { never() }
    @available(*, unavailable, message: "compare `state == .scheduled`")
    public var isValid: Bool { never() }
    @available(*, unavailable, message: "write: try PreciseTimer.schedule(.every(period)) { timer, tick in … }")
    public static func schedule(every: Duration, handler: @escaping @Sendable () -> Void) -> PreciseTimer { never() }
    @available(
        *,
        unavailable,
        message: "write: try PreciseTimer.schedule(.every(p), target: model) { model, tick in … }"
    )
    public static func schedule<T>(every: Duration, target: T, handler: @escaping (T, Tick) -> Void) { never() }
    @available(*, unavailable, message: "write: try PreciseTimer.schedule(.every(.seconds(1))) { timer, tick in … }")
    public static func scheduledTimer(withTimeInterval: Double, repeats: Bool, block: (PreciseTimer) -> Void) {
        never()
    }
}

private func never() -> Never { preconditionFailure("this cannot be called") }

extension PreciseTimer.Delivery {
    @available(*, unavailable, message: "leave `deliver:` out, and write `{ @MainActor target, tick in … }`")
    public static var mainActor: Self { never() }
}
