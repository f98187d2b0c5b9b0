/// A timer implementation to measure with `ScalePass`.
protocol TimerSide: SendableMetatype {
    associatedtype Timer

    static var name: String { get }
    /// The largest number of timers to measure with.
    static var mostTimers: Int { get }
    /// How many cancels and pairs are measured with `pending` timers.
    static func operations(with pending: Int) -> Int
    static var canReschedule: Bool { get }
    /// Runs a pass on the thread on which the side's operations are cheapest.
    static func onItsThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result

    init(_ sample: Sample) throws
    /// Schedules a timer with the target and the delay of a number.
    mutating func schedule(_ number: Int) throws -> Timer
    /// Moves a timer to an instant that is the delay of a number, plus a microsecond, from now.
    func reschedule(_ timer: Timer, _ number: Int) throws
    mutating func cancel(_ timer: Timer)
    /// Waits until other threads have carried out all operations, so that `pending` timers remain.
    func settle(pending: Int)
    /// Ends the side, with the timers that are still pending.
    func close(_ pending: [Timer])

    /// The nanoseconds until all due timers have fired. The ticks are expected already.
    static func fire(_ sample: Sample) throws -> Double
    /// The nanoseconds of one tick of 1,000 timers that are always due.
    static func tick() throws -> Double
}

extension TimerSide {
    static var mostTimers: Int { .max }
    static var canReschedule: Bool { true }
    static func operations(with pending: Int) -> Int { .max }
    static func onItsThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result { try body() }
    func reschedule(_ timer: Timer, _ number: Int) {}
    func settle(pending: Int) {}
    func close(_ pending: [Timer]) {}
}

/// Timers that are always due: each asks for more ticks than it can get.
enum Storm {
    static let timers = 1_000
    /// Nanoseconds.
    static let period: UInt64 = 100_000
}
