import PreciseTimer
import PreciseTimerTestKit
import TestSupport

// The steps of a run, and the generator that makes them from a seed.

/// One operation of a run, as a plain value: a sequence of steps can be repeated, shortened and printed.
///
/// Steps refer to timers and targets by number. A step whose timer does not exist is skipped, so any subsequence
/// is valid.
indirect enum Step: Hashable, Sendable {
    case schedule(Plan)
    case cancel(Int)
    case cancelAndWait(Int)
    case pause(Int, keepsGrid: Bool)
    case resume(Int)
    case fire(Int)
    case reschedule(Int, Rule, keepsPhase: Bool)
    case restart(Int)
    case readState(Int)
    /// Drops the handle of a timer.
    case drop(Int)
    /// Drops the run's reference to a target.
    case release(target: Int)
    case readActiveTimers
    case shutDown
    /// Continues with new virtual time after a shutdown.
    case renew
    /// Nanoseconds.
    case advance(Int64)
    /// Nanoseconds.
    case jump(Int64)
    case inject(VirtualTime.Fault, after: Int64)
}

/// A schedule in nanoseconds; the library refuses some of them.
enum Rule: Hashable, Sendable {
    case onceAfter(Int64)
    /// From the instant of the call.
    case onceAt(Int64)
    case every(Int64, after: Int64?, count: Int?, span: Int64?)
    case everyAt(Int64, at: Int64, count: Int?)
    /// Aligned to an instant this long after the call.
    case aligned(Int64, to: Int64, count: Int?)
    case rate(Int, per: Int64, at: Int64?, count: Int?)
    case fixedDelay(Int64, after: Int64?, count: Int?)
    /// A deadline too far away to be represented.
    case never
    /// No deadline until the timer is rescheduled.
    case onDemand
    /// Computed: each whole number of periods on the clock.
    case computed(Int64)
    /// Random deadlines, so far away that nobody meets them. Nothing of them may survive a reschedule.
    case far(after: Int64)

    static let farAway: Int64 = 1_000_000_000_000_000_000
}

/// A timer, and the steps that its handler performs.
struct Plan: Hashable, Sendable {
    let id: Int
    let rule: Rule
    var policy: PreciseTimer.MissedTickPolicy
    /// Nanoseconds.
    var tolerance: Int64
    var isPaused: Bool
    /// The number of its target; nil if the handle is the target.
    let target: Int?
    /// The steps of the handler.
    var script: [Cue]
    /// The steps of `onEnd`, for reasons whose moment is defined.
    var epilogue: [Step]

    /// Whether the contract accepts it.
    var isValid: Bool { rule.isValid && tolerance >= 0 && policy != .catchUp(limit: 0) }
}

/// A step of a handler.
struct Cue: Hashable, Sendable {
    /// The number of the handler's call, from 0.
    let call: Int
    let step: Step
}

extension Rule {
    /// The library's schedule for this rule, if it is scheduled at `now`.
    func schedule(at now: TimerInstant) -> PreciseTimer.Schedule {
        switch self {
        case .onceAfter(let delay): .once(after: .nanoseconds(delay))
        case .onceAt(let offset): .once(at: now.advanced(by: .nanoseconds(offset)))
        case .every(let period, let delay, let count, let span):
            .every(
                .nanoseconds(period),
                after: delay.map { .nanoseconds($0) },
                count: count,
                for: span.map { .nanoseconds($0) }
            )
        case .everyAt(let period, let offset, let count):
            .every(.nanoseconds(period), at: now.advanced(by: .nanoseconds(offset)), count: count)
        case .aligned(let period, let offset, let count):
            .every(.nanoseconds(period), alignedTo: now.advanced(by: .nanoseconds(offset)), count: count)
        case .rate(let rate, let length, nil, let count): .rate(rate, per: .nanoseconds(length), count: count)
        case .rate(let rate, let length, let offset?, let count):
            .rate(rate, per: .nanoseconds(length), at: now.advanced(by: .nanoseconds(offset)), count: count)
        case .fixedDelay(let delay, let first, let count):
            .fixedDelay(.nanoseconds(delay), after: first.map { .nanoseconds($0) }, count: count)
        case .never: .once(after: .seconds(Int64.max))
        case .onDemand: .onDemand
        case .computed(let period):
            .computed { before in
                let number = before.nanoseconds / UInt64(period) + 1
                return TimerInstant(nanoseconds: number * UInt64(period), clock: before.clock)
            }
        case .far(let delay):
            .every(
                .nanoseconds(2 * Self.farAway),
                after: .nanoseconds(delay),
                count: 3,
                spread: .nanoseconds(Self.farAway / 10),
                jitter: .nanoseconds(Self.farAway / 10),
                for: .nanoseconds(6 * Self.farAway)
            )
        }
    }

    /// Whether the contract accepts it.
    var isValid: Bool {
        switch self {
        case .onceAfter(let delay): delay >= 0
        case .onceAt, .never, .onDemand, .computed, .far: true
        case .every(let period, let delay, let count, let span):
            period > 0 && (delay ?? 0) >= 0 && count ?? 1 > 0 && span ?? .max >= delay ?? period
        case .everyAt(let period, _, let count), .aligned(let period, _, let count): period > 0 && count ?? 1 > 0
        case .rate(let rate, let length, _, let count): rate > 0 && length > 0 && rate <= length && count ?? 1 > 0
        case .fixedDelay(let delay, let first, let count): delay > 0 && (first ?? 0) >= 0 && count ?? 1 > 0
        }
    }

    /// The number of ticks after which the schedule ends; nil for no limit.
    var count: Int? {
        switch self {
        case .onceAfter, .onceAt, .never, .onDemand, .computed: nil
        case .every(_, _, let count, _), .everyAt(_, _, let count), .aligned(_, _, let count),
            .rate(_, _, _, let count), .fixedDelay(_, _, let count):
            count
        case .far: 3
        }
    }

    /// Whether it says nothing but a period or a rate, and perhaps a count.
    var hasPhase: Bool {
        switch self {
        case .every(let period, let delay, _, nil): delay ?? period == period
        case .rate(_, _, nil, _): true
        default: false
        }
    }

    var isComputed: Bool { if case .computed = self { true } else { false } }

    /// The rule that a restart begins; nil for one that does not count from its beginning.
    var restarted: Rule? {
        switch self {
        case .onceAt, .onDemand, .computed: nil
        case .onceAfter, .never: self
        case .far: .far(after: 2 * Self.farAway)
        case .every(let period, _, let count, let span):
            .every(period, after: nil, count: count, span: span.map { max($0, period) })
        case .everyAt(let period, _, let count), .aligned(let period, _, let count):
            .every(period, after: nil, count: count, span: nil)
        case .rate(let rate, let length, _, let count): .rate(rate, per: length, at: nil, count: count)
        case .fixedDelay(let delay, _, let count): .fixedDelay(delay, after: nil, count: count)
        }
    }
}

/// Makes the steps of a run from a seed.
struct StepGenerator {
    private var random: SeededGenerator
    private let clock: TimerClock
    /// In nanoseconds. Runs with a short unit test every rounding; in runs with a long unit, seconds pass.
    private let unit: Int64
    /// Whether lengths are multiples of twenty units, so that many deadlines are equal.
    private let isCoarse: Bool
    private var nextID = 0

    init(seed: UInt64, clock: TimerClock) {
        random = SeededGenerator(seed: seed)
        self.clock = clock
        (unit, isCoarse) = (seed % 3 == 0 ? 20_000_003 : 1, seed / 4 % 2 == 0)
    }

    /// The steps of one run.
    mutating func steps(_ count: Int) -> [Step] { (0..<count).map { _ in step() } }

    private mutating func step() -> Step {
        switch roll(100) {
        case 0..<14: .schedule(plan(depth: 2))
        case 14..<45: .advance(length())
        case 45..<55: .jump(length())
        case 55..<58: fault()
        case 58: .renew
        default: control(of: nil, depth: 2)
        }
    }

    /// A step that a handler may perform as well; `own` is the number of its timer.
    private mutating func control(of own: Int?, depth: Int) -> Step {
        let id = timer(own)
        return switch roll(40) {
        case 0..<4: .cancel(id)
        case 4: .cancelAndWait(id)
        case 5..<9: .pause(id, keepsGrid: roll(2) == 0)
        case 9..<13: .resume(id)
        case 13..<17: .reschedule(id, rule(), keepsPhase: false)
        case 17..<19: .reschedule(id, roll(9) == 0 ? rule() : steps(), keepsPhase: true)
        case 19: .restart(id)
        case 20..<24: .fire(id)
        case 24..<27: .readState(id)
        case 27..<29: .drop(id)
        case 29..<32: .release(target: roll(6))
        case 32: .readActiveTimers
        case 33: roll(6) == 0 ? .shutDown : .readActiveTimers
        case 34..<37 where depth > 0: .schedule(plan(depth: depth - 1))
        default: own == nil ? .resume(id) : roll(3) == 0 ? .jump(length()) : .advance(length())
        }
    }

    private mutating func plan(depth: Int) -> Plan {
        let id = nextID
        nextID += 1
        var script = (0..<max(0, roll(5) - 1)).map { _ in Cue(call: roll(4), step: control(of: id, depth: depth - 1)) }
        if roll(6) == 0 {
            // It changes its mind, or the handler goes on.
            let (call, id) = (roll(3), timer(id))
            let next = roll(2) == 0 ? Step.resume(id) : .jump(length())
            script += [.pause(id, keepsGrid: roll(2) == 0), next].map { Cue(call: call, step: $0) }
        }
        return Plan(
            id: id,
            rule: rule(),
            policy: policy(),
            tolerance: roll(3) > 0 ? 0 : roll(50) == 0 ? -1 : some(40),
            isPaused: roll(8) == 0,
            target: roll(5) < 2 ? nil : roll(6),
            script: script,
            epilogue: roll(8) == 0 ? [control(of: id, depth: depth - 1)] : []
        )
    }

    private mutating func rule() -> Rule {
        switch roll(32) {
        case 0..<4: .onceAfter(delay())
        case 4..<6: .onceAt(some(120) - 40 * unit)
        case 6..<9: steps()
        case 9..<11: .every(period(), after: roll(2) == 0 ? nil : delay(), count: count(), span: span())
        case 11..<13: .everyAt(period(), at: some(300) - 200 * unit, count: count())
        case 13: .aligned(period(), to: some(300) - 140 * unit, count: count())
        case 14..<17:
            .rate(roll(30) == 0 ? 0 : 1 + roll(7), per: some(300, atLeast: 5), at: at(), count: count())
        case 17..<22: .fixedDelay(period(), after: roll(2) == 0 ? nil : delay(), count: count())
        case 22: .never
        case 23..<27: .onDemand
        case 27..<29: .far(after: Rule.farAway)
        // On the wall clock they are computed anew after each step.
        case 29..<31: clock == .wall ? steps() : .computed(some(100, atLeast: 3))
        default: .onceAfter(0)
        }
    }

    /// A rule that says nothing but the length of a step.
    private mutating func steps() -> Rule {
        if roll(2) == 0 { return .every(period(), after: nil, count: count(), span: nil) }
        return .rate(1 + roll(7), per: some(300, atLeast: 7), at: nil, count: count())
    }

    private mutating func at() -> Int64? { roll(3) > 0 ? nil : some(300) - 200 * unit }

    private mutating func span() -> Int64? { roll(3) == 0 ? nil : some(200, atLeast: 20) }

    private mutating func policy() -> PreciseTimer.MissedTickPolicy {
        switch roll(60) {
        case 0..<20: .skip
        case 20..<30: .delay
        // This keeps the ticks of a round below a batch.
        case 30..<59: .catchUp(limit: 1 + roll(4))
        default: .catchUp(limit: 0)
        }
    }

    private mutating func fault() -> Step {
        let length = Duration.nanoseconds(length())
        let faults: [VirtualTime.Fault] = [
            .wakeLate(by: length), .wakeEarly(by: length), .stall(length), .stepClock(by: length),
            .stepClock(by: .zero - length),
        ]
        return .inject(faults[roll(clock == .wall ? 5 : 3)], after: some(100))
    }

    private mutating func period() -> Int64 { roll(60) == 0 ? Int64(roll(2)) - 1 : some(100, atLeast: 3) }

    private mutating func count() -> Int? { roll(3) > 0 ? nil : roll(40) == 0 ? 0 : 1 + roll(5) }

    private mutating func delay() -> Int64 { roll(40) == 0 ? -1 : some(80) }

    private mutating func length() -> Int64 {
        roll(8) == 0 ? 0 : some(roll(12) == 0 ? 1_000 : 80)
    }

    private mutating func some(_ sides: Int, atLeast least: Int = 0) -> Int64 {
        let number = roll(sides)
        return Int64(max(least, isCoarse ? number / 20 * 20 : number)) * unit
    }

    /// One of the latest timers.
    private mutating func timer(_ own: Int?) -> Int {
        if let own, roll(2) == 0 { return own }
        return max(0, nextID - 1 - roll(12))
    }

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
}
