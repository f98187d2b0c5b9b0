package import PreciseTimer
internal import TimerKernel

/// A target that records its ticks.
package typealias Log = Notes<PreciseTimer.Tick>

extension Log {
    /// The ticks so far.
    package var ticks: [PreciseTimer.Tick] { all }

    package func note(_ tick: PreciseTimer.Tick) { append(tick) }
}

/// A list that any thread may append to.
package final class Notes<Note: Sendable>: Sendable {
    private let noted = Lock<[Note]>([])

    package init() {}

    package var all: [Note] { noted.withLock { $0 } }
    package var count: Int { noted.withLock { $0.count } }

    package func append(_ note: Note) { noted.withLock { $0.append(note) } }
}

/// A place in which any thread may put a value, or remove it.
package final class Box<Value: Sendable>: Sendable {
    private let content = Lock<Value?>(nil)

    package init() {}

    package var value: Value? {
        get { content.withLock { $0 } }
        set {
            // The former value is returned out of the lock, and released outside it.
            _ = content.withLock { content in
                defer { content = newValue }
                return content
            }
        }
    }
}

/// An object for a handler to capture, or a target; it reports its release.
package final class Thing: Sendable {
    private let onDeinit: (@Sendable () -> Void)?

    package init(onDeinit: (@Sendable () -> Void)? = nil) { self.onDeinit = onDeinit }

    deinit { onDeinit?() }
}

/// A number that any thread may change.
package final class Count: Sendable {
    private let number = Lock(0)

    package init() {}

    package var value: Int { number.withLock { $0 } }

    /// Adds a number, and returns the sum.
    @discardableResult
    package func add(_ difference: Int) -> Int {
        number.withLock { number in
            number += difference
            return number
        }
    }
}

extension Count {
    /// Blocks the calling thread until the number has changed, for some minutes at most: who changes it may need a
    /// thread that other tests keep busy.
    package func awaitChange() {
        let before = value
        _ = eventually(within: .seconds(300)) { value != before }
    }
}

/// A gate that is opened once, for all threads and tasks that wait for it.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        /// The tasks that wait.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    package init() {}

    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Whether the gate is open.
    package var isPassable: Bool { state.withLock { $0.isOpen } }

    /// Blocks the calling thread until the gate is open.
    package func pass() { while !isPassable { pause(.milliseconds(2)) } }

    /// Waits until the gate is open, also in a cancelled task, whose sleeps would end at once.
    package func pass() async {
        await withCheckedContinuation { waiter in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(waiter) }
                return state.isOpen
            }
            if isOpen { waiter.resume() }
        }
    }
}

extension [PreciseTimer.Tick] {
    /// The number of deadlines that the ticks stand for.
    package var accounted: Int { reduce(0) { $0 + 1 + $1.missed } }

    /// The first fault in ticks of one fixed grid, from its first deadline on; nil if no tick is lost,
    /// invented or early.
    package func flaw(from start: TimerInstant, every period: Duration) -> String? {
        var next = 0
        for tick in self {
            if tick.index != next { return "tick \(tick.index) instead of \(next)" }
            if tick.deadline != start.advanced(by: period * tick.index) {
                return "tick \(tick.index) off the grid"
            }
            if let flaw = tick.flawInTime { return flaw }
            next += 1 + tick.missed
        }
        return nil
    }

    /// The first fault in ticks of one fixed grid that begins with the first tick; nil if no tick is lost, invented or
    /// early. For ticks that are delivered on the alarm's thread: each deadline up to the last round must be ticked
    /// or missed.
    package func flaw(every period: Duration) -> String? {
        guard let first, let last else { return "no tick" }
        if let flaw = flaw(from: first.deadline, every: period) { return flaw }
        // An independent count.
        let passed = Int(first.deadline.duration(to: last.woke) / period) + 1
        return accounted == passed ? nil : "\(accounted) deadlines of \(passed)"
    }

    /// The ticks of each round of the alarm's thread. For ticks that are delivered on that thread.
    package var rounds: [[PreciseTimer.Tick]] {
        var rounds: [[PreciseTimer.Tick]] = []
        for tick in self {
            if rounds.last?.first?.woke == tick.woke {
                rounds[rounds.count - 1].append(tick)
            } else {
                rounds.append([tick])
            }
        }
        return rounds
    }
}

extension PreciseTimer.Tick {
    /// The fault in the order of the tick's instants; nil if they are in order.
    package var flawInTime: String? {
        if woke < deadline { return "tick \(index) woke early" }
        if delivered < woke { return "tick \(index) was delivered before it woke" }
        return nil
    }
}

/// A timer with a log of its ticks and ends.
package struct TickingTimer: Sendable {
    package let log = Log()
    package let ends = Notes<PreciseTimer.EndReason>()
    package let timer: PreciseTimer
    /// How often a tick came during another one.
    package let overlaps = Count()

    // A body is called with each tick that is noted.
    @discardableResult package init(
        _ schedule: PreciseTimer.Schedule = .every(.milliseconds(1)),
        on service: TimerService,
        deliver: PreciseTimer.Delivery = .inline,
        _ body: (@Sendable (PreciseTimer.Tick) -> Void)? = nil
    ) throws(TimerError) {
        timer = try PreciseTimer.schedule(
            schedule,
            on: service,
            deliver: deliver,
            target: log,
            onEnd: { [ends] in ends.append($0) },
            handler: { [overlaps, running = Count()] log, tick in
                if running.add(1) > 1 { overlaps.add(1) }
                log.note(tick)
                running.add(-1)
                // It may fork, and return in the child, which must take no lock.
                body?(tick)
            }
        )
    }

    package var hasEnded: Bool { ends.count > 0 }

    /// The number of deadlines that the ticks stand for.
    package var accounted: Int { log.ticks.accounted }

    /// Waits for some more ticks. Returns whether they have come.
    package func ticks(_ count: Int) -> Bool {
        let before = log.count
        return eventually { log.count >= before + count }
    }

    /// Whether every deadline before the last tick was ticked or missed: no tick was stolen.
    package var losesNothing: Bool {
        let ticks = log.ticks
        return ticks.last?.index == Array(ticks.dropLast()).accounted
    }
}
