import PreciseTimer
import PreciseTimerTestKit

/// One operation of a run, as a plain value: a sequence of steps can be repeated, shortened and printed.
///
/// Steps refer to timers and targets by number. A step whose timer does not exist is skipped, so any subsequence
/// is valid.
indirect enum Step: Hashable, Sendable {
    case schedule(Plan)
    case cancel(Int)
    case cancelAndWait(Int)
    case pause(Int)
    case resume(Int)
    case fire(Int)
    case reschedule(Int, Rule)
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
    case every(Int64, after: Int64?, count: Int?)
    case everyAt(Int64, at: Int64, count: Int?)
    /// Aligned to an instant this long after the call.
    case aligned(Int64, to: Int64, count: Int?)
    case rate(Int, per: Int64, count: Int?)
    case fixedDelay(Int64, after: Int64?, count: Int?)
    /// A deadline too far away to be represented.
    case never
    /// No deadline until the timer is rescheduled.
    case onDemand
}

/// A timer, and the steps that its handler performs.
struct Plan: Hashable, Sendable {
    let id: Int
    let rule: Rule
    let policy: PreciseTimer.MissedTickPolicy
    /// Nanoseconds.
    let tolerance: Int64
    let isPaused: Bool
    /// The number of its target; nil if the handle is the target.
    let target: Int?
    /// The steps of the handler.
    var script: [Cue]
    /// The steps of `onEnd`, for reasons whose moment is defined.
    var epilogue: [Step]
}

/// A step of a handler.
struct Cue: Hashable, Sendable {
    /// The number of the handler's call, from 0.
    let call: Int
    let step: Step
}

extension Step {
    /// Whether the step lets time pass.
    var movesTime: Bool {
        switch self {
        case .advance, .jump: true
        default: false
        }
    }
}

extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .schedule(let plan): "\(plan)"
        case .cancel(let id): "cancel \(id)"
        case .cancelAndWait(let id): "cancel \(id) and wait"
        case .pause(let id): "pause \(id)"
        case .resume(let id): "resume \(id)"
        case .fire(let id): "fire \(id)"
        case .reschedule(let id, let rule): "reschedule \(id) .\(rule)"
        case .readState(let id): "read the state of \(id)"
        case .drop(let id): "drop the handle of \(id)"
        case .release(let target): "release target \(target)"
        case .readActiveTimers: "read activeTimers"
        case .shutDown: "shut down"
        case .renew: "renew"
        case .advance(let length): "advance \(length)"
        case .jump(let length): "jump \(length)"
        case .inject(let fault, let delay): "inject \"\(fault)\" after \(delay)"
        }
    }
}

extension Plan: CustomStringConvertible {
    var description: String {
        var text = "schedule \(id) .\(rule), \(policy)"
        if tolerance != 0 { text += ", tolerance \(tolerance)" }
        if isPaused { text += ", paused" }
        text += target.map { ", target \($0)" } ?? ", no target"
        for cue in script { text += " [call \(cue.call): \(cue.step)]" }
        for step in epilogue { text += " [end: \(step)]" }
        return text
    }
}

extension Rule {
    /// The library's schedule for this rule, if it is scheduled at `now`.
    func schedule(at now: TimerInstant) -> PreciseTimer.Schedule {
        switch self {
        case .onceAfter(let delay): .once(after: .nanoseconds(delay))
        case .onceAt(let offset): .once(at: now.advanced(by: .nanoseconds(offset)))
        case .every(let period, let delay, let count):
            .every(.nanoseconds(period), after: delay.map { .nanoseconds($0) }, count: count)
        case .everyAt(let period, let offset, let count):
            .every(.nanoseconds(period), at: now.advanced(by: .nanoseconds(offset)), count: count)
        case .aligned(let period, let offset, let count):
            .every(.nanoseconds(period), alignedTo: now.advanced(by: .nanoseconds(offset)), count: count)
        case .rate(let rate, let length, let count): .rate(rate, per: .nanoseconds(length), count: count)
        case .fixedDelay(let delay, let first, let count):
            .fixedDelay(.nanoseconds(delay), after: first.map { .nanoseconds($0) }, count: count)
        case .never: .once(after: .seconds(Int64.max))
        case .onDemand: .onDemand
        }
    }

    /// Whether the contract accepts it.
    var isValid: Bool {
        switch self {
        case .onceAfter(let delay): delay >= 0
        case .onceAt, .never, .onDemand: true
        case .every(let period, let delay, let count): period > 0 && (delay ?? 0) >= 0 && count ?? 1 > 0
        case .everyAt(let period, _, let count), .aligned(let period, _, let count): period > 0 && count ?? 1 > 0
        case .rate(let rate, let length, let count): rate > 0 && length > 0 && rate <= length && count ?? 1 > 0
        case .fixedDelay(let delay, let first, let count): delay > 0 && (first ?? 0) >= 0 && count ?? 1 > 0
        }
    }

    /// The number of ticks after which the schedule ends; nil for no limit.
    var count: Int? {
        switch self {
        case .onceAfter, .onceAt, .never, .onDemand: nil
        case .every(_, _, let count), .everyAt(_, _, let count), .aligned(_, _, let count), .rate(_, _, let count),
            .fixedDelay(_, _, let count):
            count
        }
    }
}

extension Plan {
    /// Whether the contract accepts it.
    var isValid: Bool {
        if case .catchUp(let limit) = policy, limit < 1 { return false }
        return rule.isValid && tolerance >= 0
    }
}
