import ArgumentParser
import Dispatch
import Synchronization

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

/// The sides that are compared, by name.
enum Side: String, CaseIterable, ExpressibleByArgument {
    case ours
    case dispatch
    case nio
    case sleep
    case libevent
    case heap

    private var type: any TimerSide.Type {
        switch self {
        case .ours: OurTimers.self
        case .dispatch: DispatchTimers.self
        case .nio: LoopTasks.self
        case .sleep: SleepingTasks.self
        case .libevent: LoopEvents.self
        case .heap: HeapFloor.self
        }
    }

    var title: String { type.name }

    func takesPart(with count: Int) -> Bool { count <= type.mostTimers }

    /// Nanoseconds per operation. One call for each type, so that the compiler specialises it.
    func operations(_ sample: Sample) throws -> [Operation: Double] {
        switch self {
        case .ours: try ScalePass.run(OurTimers.self, sample)
        case .dispatch: try ScalePass.run(DispatchTimers.self, sample)
        case .nio: try ScalePass.run(LoopTasks.self, sample)
        case .sleep: try ScalePass.run(SleepingTasks.self, sample)
        case .libevent: try ScalePass.run(LoopEvents.self, sample)
        case .heap: try ScalePass.run(HeapFloor.self, sample)
        }
    }

    func tick() throws -> Double { try type.tick() }
}

/// Holds a thread until `open`, and records the instant at which the thread continued.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let instant = Atomic<UInt64>(0)

    var passed: UInt64 { instant.load(ordering: .relaxed) }

    func pass() {
        semaphore.wait()
        instant.store(Clock.now(), ordering: .relaxed)
    }

    func open() { semaphore.signal() }
}

/// Timers that are scheduled long enough before they come due.
enum Lead {
    /// Calls `schedule` with an instant ahead, and again with a later one if scheduling took too long. Returns the
    /// instant. The closure returns how its timers are cancelled.
    static func scheduled(count: Int, _ schedule: (UInt64) throws -> () -> Void) rethrows -> UInt64 {
        var lead = max(20_000_000, UInt64(count) * 4_000)
        while true {
            let deadline = Clock.now() + lead
            let cancel = try schedule(deadline)
            if Clock.now() + 5_000_000 < deadline { return deadline }
            cancel()
            Clock.sleep(milliseconds: 200)
            lead *= 2
        }
    }

    /// The nanoseconds from the first to the last tick of timers that come due together.
    static func fire(_ sample: Sample, _ schedule: (UInt64) -> () -> Void) throws -> Double {
        var cancel: () -> Void = {}
        _ = scheduled(count: sample.count) { deadline in
            Ticks.expect(sample.count)
            cancel = schedule(deadline)
            return cancel
        }
        let (first, last) = try Ticks.wait()
        cancel()
        return Double(last - first)
    }
}
