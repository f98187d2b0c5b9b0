public import PreciseTimer
internal import TimerKernel

/// The ticks that a test has seen, as a target of timers. A failed expectation shows their deadlines as durations since
/// the start of virtual time.
///
/// ```swift
/// let log = TickLog(virtual)
/// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: log) { log, tick in log.note(tick) }
/// virtual.advance(by: .seconds(2))
/// #expect(log.deadlines == [.seconds(1), .seconds(2)], "\(virtual)")
/// ```
///
/// All members may be used from any thread. A timer does not retain its log, so the test must hold it.
public final class TickLog: Sendable {
    private let start: TimerInstant
    private let noted = Lock([PreciseTimer.Tick]())

    /// An empty log of ticks on virtual time.
    public init(_ virtual: VirtualTime) { start = virtual.start }

    /// Adds a tick. Constant time, amortised.
    public func note(_ tick: PreciseTimer.Tick) { noted.withLock { $0.append(tick) } }

    /// The ticks, in the order of `note`. O(n) for n ticks, as are the others.
    public var ticks: [PreciseTimer.Tick] { noted.withLock { $0 } }

    /// When the ticks were due, since the start of virtual time.
    public var deadlines: [Duration] { ticks.map { start.duration(to: $0.deadline) } }

    /// How many further deadlines each tick stands for.
    public var missed: [Int] { ticks.map(\.missed) }
}
