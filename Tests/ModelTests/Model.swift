import PreciseTimer
import PreciseTimerTestKit

/// Performs the same steps as the library, according to the contract, and compares the observed events with the
/// promised ones.
///
/// The contract leaves one freedom: when a dead target is found. The model accepts an end for this reason from the
/// target's death on, and demands it when time has moved by a second.
struct Model {
    /// The instant at which virtual time begins.
    let start: TimerInstant
    var now: UInt64
    /// Nanoseconds that have passed on this virtual time.
    var elapsed: UInt64 = 0
    /// When the service next searches for dead targets.
    var nextSweep: UInt64 = 1_000_000_000
    /// The instant that the alarm is set to; postponing a deadline does not change it.
    var armed: UInt64?
    /// The sum of the steps of the clock since that instant came: it stays so.
    var stepsSinceArmed: Int64 = 0
    var wakeError: Int64 = 0
    var faults: [(at: UInt64, fault: VirtualTime.Fault)] = []
    /// The instant of the round that is in progress.
    var firing: UInt64?
    var isShutDown = false

    var timers: [Int: ModelTimer] = [:]
    /// The timers that have not ended, in the order of their creation.
    var pending: [Int] = []
    var schedules = 0
    /// The living target of each number that steps use.
    var targets: [Int: Int] = [:]
    var targetsMade = 0
    var dead: Set<Int> = []

    var events: ArraySlice<Event> = []
    /// The first difference between the library and the model.
    private(set) var difference: String?
    /// The branches that the model has taken.
    var seen: Set<String> = []

    init(startingAt start: TimerInstant) { (self.start, now) = (start, start.nanoseconds) }

    /// Performs a step that the library has performed.
    mutating func take(_ step: Step, seeing events: [Event]) {
        self.events = events[...]
        perform(step)
        expect(.standing(standing))
        if let extra = self.events.first { differ("an unexpected event: \(extra)") }
    }

    /// Ends everything, as the library has done.
    mutating func finish(seeing events: [Event]) {
        self.events = events[...]
        shutDown()
        expect(.done)
        for (_, target) in targets.sorted(by: { $0.key < $1.key }) { expect(.died(target)) }
        if let extra = self.events.first { differ("an unexpected event: \(extra)") }
    }

    var standing: Standing {
        let held = pending.compactMap { timers[$0] }.filter(\.hasHandle)
        return Standing(
            now: now,
            pendingCount: pending.count,
            nextWakeTime: nextWakeTime,
            nextDeadlines: Dictionary(
                uniqueKeysWithValues: held.map { ($0.plan.id, $0.nextForReader?.notBeyond(start)) }
            ),
            remaining: Dictionary(uniqueKeysWithValues: held.map { ($0.plan.id, $0.remaining(at: now)) }),
            periods: Dictionary(uniqueKeysWithValues: held.map { ($0.plan.id, $0.isSpent ? nil : $0.grid.period) })
        )
    }

    // MARK: Helpers

    var isFiring: Bool { firing != nil }

    /// Lets a timer take its place in line. It keeps its turn in the present round if it had one.
    mutating func queue(_ id: Int, keepsTurn: Bool = false) {
        guard var timer = timers[id] else { return }
        timer.queue(during: firing, keepsTurn: keepsTurn)
        timers[id] = timer
    }

    /// Whether a timer waits for its turn in the present round.
    func hasTurn(_ id: Int) -> Bool {
        guard let firing, let timer = timers[id], timer.isWaiting, let next = timer.next else { return false }
        return next <= firing && !timer.isDeferred
    }

    mutating func takeOrder() -> Int {
        schedules += 1
        return schedules
    }

    mutating func expect(_ event: Event, adopting: Bool = true) {
        if adopting, events.first != event { adoptEnds() }
        guard difference == nil else { return }
        guard let actual = events.popFirst() else { return differ("\(event) is missing") }
        if actual != event { differ("expected \(event), but observed \(actual)") }
    }

    mutating func differ(_ text: String) { difference = difference ?? text }
}

/// How time passes, and the faults on the way.
extension Model {
    mutating func pass(_ nanoseconds: UInt64) {
        now += nanoseconds
        elapsed += nanoseconds
    }

    mutating func advance(by nanoseconds: UInt64) {
        if isFiring { return pass(nanoseconds) }
        var last = elapsed + nanoseconds
        while difference == nil {
            let wait = armed.map { Int64($0) - Int64(now) + stepsSinceArmed + wakeError }
            // A handler may have moved time past the end. What was due before the end still comes.
            let firing = wait.flatMap { wait in
                isShutDown || Int64(elapsed) + wait > Int64(last) ? nil : elapsed + UInt64(max(0, wait))
            }
            if let next = faults.first, next.at <= last, next.at <= firing ?? .max {
                pass(next.at - min(elapsed, next.at))
                happen(faults.removeFirst().fault)
                last = max(last, elapsed)
            } else if let firing {
                pass(firing - elapsed)
                (wakeError, stepsSinceArmed, armed) = (0, 0, nil)
                round()
            } else {
                break
            }
        }
        pass(max(last, elapsed) - elapsed)
    }

    mutating func happen(_ fault: VirtualTime.Fault) {
        switch fault {
        case .wakeLate(let delay): wakeError += delay.wholeNanoseconds
        case .wakeEarly(let lead): wakeError -= lead.wholeNanoseconds
        case .stall(let length): pass(UInt64(length.wholeNanoseconds))
        case .stepClock(let step):
            if let armed, Int64(armed) + stepsSinceArmed <= Int64(now) { stepsSinceArmed += step.wholeNanoseconds }
            now = UInt64(Int64(now) + step.wholeNanoseconds)
        // Not among the random steps: `VirtualFaultTests` have it.
        case .suspend: break
        }
        seen.insert("fault")
    }

    /// When the alarm fires next: at once for timers that wait for no instant.
    var nextWakeTime: UInt64? { (hasDeferred ? armed : firstInstant)?.notBeyond(start) }

    private var waiting: [ModelTimer] {
        pending.compactMap { timers[$0] }.filter { $0.isWaiting && $0.next ?? .max != .max }
    }

    private var hasDeferred: Bool { waiting.contains(where: \.isDeferred) }

    private var firstInstant: UInt64? { waiting.compactMap(\.lastInstant).min() }

    /// Sets the alarm after a request for a timer, if that must tick before it fires.
    mutating func setAlarm(for id: Int) {
        guard let timer = timers[id], timer.isWaiting, timer.next ?? .max != .max, let next = timer.lastInstant else {
            return
        }
        setAlarm(to: next)
    }

    /// Sets the alarm after a round. For timers that wait for the next one, it fires at once.
    mutating func setAlarm(afterRoundAt round: UInt64) {
        let others = waiting.filter { !$0.isDeferred }.compactMap(\.lastInstant)
        if let next = (hasDeferred ? others + [min(round, now)] : others).min() { setAlarm(to: next) }
    }

    private mutating func setAlarm(to next: UInt64) {
        if isFiring || next >= armed ?? .max { return }
        (armed, stepsSinceArmed) = (next, 0)
    }
}

/// An observable effect of the library in a run.
enum Event: Hashable, Sendable {
    /// A step was not performed: its timer does not exist, or the step does not apply.
    case skipped
    case returned(Bool)
    case refused(TimerError.Code)
    case done
    case state(PreciseTimer.State)
    case activeTimers([Seen])
    case tick(Int, PreciseTimer.Tick)
    /// The last reference to a target was released; targets are numbered in the order of their creation.
    case died(Int)
    /// A handler's captures were released.
    case released(Int)
    case ended(Int, PreciseTimer.EndReason)
    /// The state of the run after a step.
    case standing(Standing)

    func hash(into hasher: inout Hasher) { hasher.combine("\(self)") }
}

/// An entry of `activeTimers`.
struct Seen: Hashable, Sendable {
    let id: Int
    let nextDeadline: UInt64?
    let isPaused: Bool
    let ticks: UInt64
    let lastLateness: UInt64?
}

/// The state of a run between two steps.
struct Standing: Hashable, Sendable {
    let now: UInt64
    let pendingCount: Int
    /// When the service will wake for a due timer.
    let nextWakeTime: UInt64?
    /// The next deadlines of the timers that have not ended and whose handle is held.
    let nextDeadlines: [Int: UInt64?]
    /// The times to these, but no more than a very long one.
    let remaining: [Int: Duration?]
    /// Their periods.
    let periods: [Int: Duration?]
}

extension UInt64 {
    /// This instant, or a far one that stands for all beyond: those are random.
    func notBeyond(_ start: TimerInstant) -> UInt64 { Swift.min(self, start.nanoseconds + UInt64(Rule.farAway / 2)) }
}

extension Duration {
    /// The nanoseconds of a duration that is a whole number of nanoseconds, exactly.
    var wholeNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
