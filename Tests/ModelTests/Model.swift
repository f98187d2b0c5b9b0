import PreciseTimer
import PreciseTimerTestKit

/// Takes the same steps as the library, by the contract, and compares what was seen there with what is promised.
///
/// The one freedom that the contract leaves is when a dead target is found: an end for that reason is accepted from the
/// target's death on, and is overdue when time has been moved by a second.
struct Model {
    /// What a look found due.
    struct Claim {
        let id: Int
        let deadline: UInt64
        /// The number of the schedule that it is of.
        let order: Int
    }

    struct Fault {
        let at: UInt64
        let fault: VirtualTime.Fault
    }

    /// Where virtual time begins.
    let start: UInt64
    var now: UInt64
    /// Nanoseconds that have passed on this virtual time.
    var elapsed: UInt64 = 0
    /// When dead targets are looked for next.
    var nextCare: UInt64 = 1_000_000_000
    /// What the alarm is set to: it is left alone by what makes a deadline later.
    var armed: UInt64?
    var wakeError: Int64 = 0
    var faults: [Fault] = []
    /// Whether a look is going on.
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
    /// The first thing that the library did otherwise.
    private(set) var difference: String?
    /// The branches that were taken.
    var seen: Set<String> = []

    init(startingAt start: UInt64) {
        self.start = start
        now = start
    }

    /// Takes a step that the library has taken.
    mutating func take(_ step: Step, seeing events: [Event]) {
        self.events = events[...]
        perform(step)
        expect(.standing(standing))
        if let extra = self.events.first { differ("nothing more was to be seen, but \(extra)") }
    }

    /// Ends everything, as the library has done.
    mutating func finish(seeing events: [Event]) {
        self.events = events[...]
        shutDown()
        expect(.done)
        for (_, target) in targets.sorted(by: { $0.key < $1.key }) { expect(.died(target)) }
        if let extra = self.events.first { differ("nothing more was to be seen, but \(extra)") }
    }

    var standing: Standing {
        Standing(
            now: now,
            pendingCount: pending.count,
            nextLook: nextLook,
            nextDeadlines: Dictionary(
                uniqueKeysWithValues: pending.compactMap { timers[$0] }.filter(\.hasHandle)
                    .map { ($0.plan.id, $0.nextForReader) }
            )
        )
    }

    // MARK: Small things

    mutating func takeOrder() -> Int {
        schedules += 1
        return schedules
    }

    mutating func expect(_ event: Event, adopting: Bool = true) {
        if adopting, events.first != event { adoptEnds() }
        guard difference == nil else { return }
        guard let actual = events.popFirst() else { return differ("\(event) is missing") }
        if actual != event { differ("expected \(event), but saw \(actual)") }
    }

    mutating func differ(_ text: String) { difference = difference ?? text }
}
