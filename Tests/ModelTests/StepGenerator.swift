import PreciseTimer
import PreciseTimerTestKit
import TestSupport

/// Makes the steps of a run from a seed.
struct StepGenerator {
    private var random: SeededGenerator
    private let clock: TimerClock
    /// In nanoseconds. Runs with a short unit test every rounding; in runs with a long unit, seconds pass.
    private let unit: Int64
    private var nextID = 0

    init(seed: UInt64, clock: TimerClock) {
        random = SeededGenerator(seed: seed)
        self.clock = clock
        unit = seed % 3 == 0 ? 20_000_003 : 1
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
        case 5..<9: .pause(id)
        case 9..<14: .resume(id)
        case 14..<19: .reschedule(id, rule())
        case 19..<24: .fire(id)
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
        let script = (0..<max(0, roll(5) - 1)).map { _ in Cue(call: roll(4), step: control(of: id, depth: depth - 1)) }
        return Plan(
            id: id,
            rule: rule(),
            policy: policy(),
            tolerance: roll(3) > 0 ? 0 : roll(50) == 0 ? -1 : Int64(roll(40)) * unit,
            isPaused: roll(8) == 0,
            target: roll(5) < 2 ? nil : roll(6),
            script: script,
            epilogue: roll(8) == 0 ? [control(of: id, depth: depth - 1)] : []
        )
    }

    private mutating func rule() -> Rule {
        switch roll(28) {
        case 0..<4: .onceAfter(delay())
        case 4..<6: .onceAt((Int64(roll(120)) - 40) * unit)
        case 6..<11: .every(period(), after: roll(2) == 0 ? nil : delay(), count: count())
        case 11..<13: .everyAt(period(), at: (Int64(roll(300)) - 200) * unit, count: count())
        case 13: .aligned(period(), to: (Int64(roll(300)) - 150) * unit, count: count())
        case 14..<17: .rate(roll(30) == 0 ? 0 : 1 + roll(7), per: Int64(5 + roll(300)) * unit, count: count())
        case 17..<22: .fixedDelay(period(), after: roll(2) == 0 ? nil : delay(), count: count())
        case 22: .never
        case 23..<27: .onDemand
        default: .onceAfter(0)
        }
    }

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
        let fault: VirtualTime.Fault =
            switch roll(clock == .wall ? 4 : 3) {
            case 0: .wakeLate(by: length)
            case 1: .wakeEarly(by: length)
            case 2: .stall(length)
            default: .stepClock(by: roll(2) == 0 ? length : .zero - length)
            }
        return .inject(fault, after: Int64(roll(100)) * unit)
    }

    private mutating func period() -> Int64 { roll(60) == 0 ? Int64(roll(2)) - 1 : (3 + Int64(roll(100))) * unit }

    private mutating func count() -> Int? { roll(3) > 0 ? nil : roll(40) == 0 ? 0 : 1 + roll(5) }

    private mutating func delay() -> Int64 { roll(40) == 0 ? -1 : Int64(roll(80)) * unit }

    private mutating func length() -> Int64 {
        (roll(8) == 0 ? 0 : roll(12) == 0 ? Int64(roll(1_000)) : Int64(roll(80))) * unit
    }

    /// One of the latest timers.
    private mutating func timer(_ own: Int?) -> Int {
        if let own, roll(2) == 0 { return own }
        return max(0, nextID - 1 - roll(20))
    }

    private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
}
