// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import TimerKernel

// What people write first who know other timers. Each line refuses it, and the compiler says what to write instead.

extension PreciseTimer {
    @available(*, unavailable, renamed: "cancel()")
    public func invalidate() { never() }
    @available(*, unavailable, renamed: "cancel()")
    public func stop() { never() }
    @available(*, unavailable, message: "a timer runs from its schedule on; pass `paused: true`, and call resume()")
    public func start() { never() }
    @available(*, unavailable, renamed: "pause()")
    public func suspend() { never() }
    @available(*, unavailable, message: "compare `state == .scheduled`")
    public var isValid: Bool { never() }
    @available(*, unavailable, renamed: "hasEnded")
    public var isCancelled: Bool { never() }
    @available(*, unavailable, message: "compare `state == .paused`")
    public var isPaused: Bool { never() }
    @available(*, unavailable, message: "read nextDeadline; set it with `reschedule(.once(at:))`")
    public var fireDate: TimerInstant { never() }

    @available(*, unavailable, renamed: "TimerService.Backend")
    public typealias Backend = TimerService.Backend
    @available(*, unavailable, message: "write: try PreciseTimer.schedule(.every(period)) { timer, tick in … }")
    public convenience init(every period: Duration, handler: @escaping @Sendable () -> Void) { never() }
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
    @available(*, unavailable, message: "import PreciseTimerPatterns: `try await withRetry(attempts: 5) { … }`")
    public static func retry(_: Int, operation: () async throws -> Void) async throws { never() }
}

extension PreciseTimer.Schedule {
    @available(*, unavailable, renamed: "once(after:)")
    public static func after(_ delay: Duration) -> Self { never() }
    @available(*, unavailable, message: "import PreciseTimerFoundation: `.daily(at: DateComponents(hour: 2))`")
    public static func daily(hour: Int, minute: Int = 0) -> Self { never() }
    @available(*, unavailable, message: "import PreciseTimerFoundation: `.daily(at: DateComponents(hour: 2))`")
    public static func daily(at: String) -> Self { never() }
    @available(*, unavailable, message: "import PreciseTimerFoundation: `.hourly`, `.daily`, `.weekly` or `.calendar`")
    public static func cron(_: String) -> Self { never() }
    @available(*, unavailable, message: "import PreciseTimerPatterns: `.rate(127.5, per: .seconds(60))`")
    public static func rate(_: Double, per duration: Duration) -> Self { never() }
    @available(*, unavailable, message: "import PreciseTimerFoundation: `schedule.deadlines(after: date, count: 1)`")
    public func first<Instant>(after: Instant) -> Instant? { never() }
}

extension PreciseTimer.Delivery {
    @available(*, unavailable, message: "write `deliver: .mainActor`, or `deliver: .queue(.main)`")
    public static var main: Self { never() }
}

extension TimerService {
    @available(*, unavailable, message: "write `deliver: .mainActor`, which is where the handler runs")
    public static var main: TimerService { never() }
}

extension TimerService.Backend {
    @available(*, unavailable, message: "write: try TimerService(attachedTo: base)")
    public static func libevent(base: OpaquePointer) -> Self { never() }
}

extension TimerService.ThreadOptions {
    @available(*, unavailable, message: "write `ThreadOptions(affinity: [2])`")
    public init(cpu: Int) { never() }
}

extension Duration {
    @available(*, unavailable, message: "write `.seconds(60 * count)`")
    public static func minutes<Count>(_ count: Count) -> Duration { never() }
    @available(*, unavailable, message: "write `.seconds(3_600 * count)`")
    public static func hours<Count>(_ count: Count) -> Duration { never() }
    @available(*, unavailable, message: "write `.seconds(86_400 * count)`; at a time of the day: `.daily(at:)`")
    public static func days<Count>(_ count: Count) -> Duration { never() }
}

private func never() -> Never { preconditionFailure("this cannot be called") }

extension PreciseTimer.Delivery {
    @available(*, unavailable, message: "leave `deliver:` out, and write `{ @MainActor target, tick in … }`")
    public static var mainActor: Self { never() }
}
