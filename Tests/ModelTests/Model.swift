import PreciseTimer
import PreciseTimerTestKit

/// Performs the same steps as the library, according to the contract, and compares the observed events with the
/// promised ones.
///
/// The contract leaves one freedom: when a dead target is found. The model accepts an end for this reason from the
/// target's death on, and demands it when time has moved by a second.
struct Model {
    /// A due timer of a look.
    struct Claim {
        let id: Int
        let deadline: UInt64
        /// The number of the schedule that the deadline belongs to.
        let order: Int
    }

    struct Fault {
        let at: UInt64
        let fault: VirtualTime.Fault
    }

    /// The instant at which virtual time begins.
    let start: UInt64
    var now: UInt64
    /// Nanoseconds that have passed on this virtual time.
    var elapsed: UInt64 = 0
    /// When the service next searches for dead targets.
    var nextCare: UInt64 = 1_000_000_000
    /// The instant that the alarm is set to; postponing a deadline does not change it.
    var armed: UInt64?
    var wakeError: Int64 = 0
    var faults: [Fault] = []
    /// Whether a look is in progress.
    var isFiring = false
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

    init(startingAt start: UInt64) {
        self.start = start
        now = start
    }

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
            nextLook: nextLook,
            nextDeadlines: Dictionary(uniqueKeysWithValues: held.map { ($0.plan.id, $0.nextForReader) }),
            periods: Dictionary(uniqueKeysWithValues: held.map { ($0.plan.id, $0.isSpent ? nil : $0.grid.period) })
        )
    }

    // MARK: Helpers

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
