import PreciseTimer
import PreciseTimerTestKit

/// Takes the same steps as the library, by the contract, and compares what was seen there with what is promised.
///
/// The one freedom that the contract leaves is when a dead target is found: an end for that reason is accepted from the
/// target's death on, and is overdue when time has been moved by a second.
struct Model {
    /// What a look found due.
    private struct Claim {
        let id: Int
        let deadline: UInt64
        /// The number of the schedule that it is of.
        let order: Int
    }

    private struct Fault {
        let at: UInt64
        let fault: VirtualTime.Fault
    }

    /// Where virtual time begins.
    private let start: UInt64
    private var now: UInt64
    /// Nanoseconds that have passed on this virtual time.
    private var elapsed: UInt64 = 0
    /// When dead targets are looked for next.
    private var nextCare: UInt64 = 1_000_000_000
    /// What the alarm is set to: it is left alone by what makes a deadline later.
    private var armed: UInt64?
    private var wakeError: Int64 = 0
    private var faults: [Fault] = []
    /// Whether a look is going on.
    private var isFiring = false
    private var isShutDown = false

    private var timers: [Int: ModelTimer] = [:]
    /// The timers that have not ended, in the order of their creation.
    private var pending: [Int] = []
    private var schedules = 0
    /// The living target of each number that steps use.
    private var targets: [Int: Int] = [:]
    private var targetsMade = 0
    private var dead: Set<Int> = []

    private var events: ArraySlice<Event> = []
    /// The first thing that the library did otherwise.
    private(set) var difference: String?
    /// The branches that were taken.
    private(set) var seen: Set<String> = []

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

    private var standing: Standing {
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

    // MARK: Steps

    private mutating func perform(_ step: Step) {
        if !step.movesTime { adoptEnds() }
        guard difference == nil else { return }
        if events.first == .skipped {
            events.removeFirst()
            return
        }
        switch step {
        case .schedule(let plan): schedule(plan)
        case .cancel(let id), .cancelAndWait(let id): expect(.returned(end(id, .cancelled)))
        case .pause(let id):
            let isChanging = timers[id].map { !$0.hasEnded && !$0.isPaused } ?? false
            if isChanging { timers[id]?.isPaused = true }
            expect(.returned(isChanging))
        case .resume(let id):
            let isChanging = timers[id].map { !$0.hasEnded && $0.isPaused } ?? false
            if isChanging { timers[id]?.isPaused = false }
            setAlarm()
            expect(.returned(isChanging))
        case .fire(let id):
            let isPending = timers[id].map { !$0.hasEnded } ?? false
            let extra = min(timers[id]?.extra ?? now, now)
            if isPending { timers[id]?.extra = extra }
            setAlarm()
            expect(.returned(isPending))
        case .reschedule(let id, let rule): reschedule(id, rule)
        case .readState(let id): readState(of: id)
        case .drop(let id): drop(id)
        case .release(let number):
            if let target = targets.removeValue(forKey: number), !isHeldByHandler(target) { die(target) }
            expect(.done)
        case .readActiveTimers: expect(.activeTimers(activeTimers))
        case .shutDown:
            shutDown()
            expect(.done)
        case .renew: renew()
        case .advance(let length):
            advance(by: UInt64(length))
            findDeadTargets()
            expect(.done)
        case .jump(let length):
            pass(UInt64(length))
            if !isFiring { advance(by: 0) }
            findDeadTargets()
            expect(.done)
        case .inject(let fault, let delay):
            let at = elapsed + UInt64(delay)
            faults.insert(Fault(at: at, fault: fault), at: faults.firstIndex { $0.at > at } ?? faults.endIndex)
            expect(.done)
        }
    }

    private mutating func schedule(_ plan: Plan) {
        var target: Int?
        if let number = plan.target {
            if targets[number] == nil {
                targets[number] = targetsMade
                targetsMade += 1
            }
            target = targets[number]
        }
        guard plan.isValid, !isShutDown else {
            seen.insert("refused")
            expect(.released(plan.id))
            return expect(.refused(plan.isValid ? .shutDown : .invalidSchedule))
        }
        timers[plan.id] = ModelTimer(
            plan: plan,
            order: takeOrder(),
            grid: ModelGrid(plan.rule, at: now),
            isPaused: plan.isPaused,
            target: target
        )
        pending.append(plan.id)
        setAlarm()
        expect(.done)
    }

    private mutating func reschedule(_ id: Int, _ rule: Rule) {
        guard rule.isValid else { return expect(.refused(.invalidSchedule)) }
        guard timers[id]?.hasEnded == false else { return expect(.refused(.timerEnded)) }
        if timers[id]?.isInDelivery == true { seen.insert("rescheduled in delivery") }
        let order = takeOrder()
        timers[id]?.reschedule(on: ModelGrid(rule, at: now), order: order)
        setAlarm()
        expect(.done)
    }

    private mutating func readState(of id: Int) {
        if timers[id].map(isDead) ?? false { end(id, .targetReleased) }
        guard let timer = timers[id] else { return differ("there is no timer \(id)") }
        expect(.state(timer.ending.map { .ended($0) } ?? (timer.isPaused ? .paused : .scheduled)))
    }

    private mutating func drop(_ id: Int) {
        timers[id]?.hasHandle = false
        // The delivery holds the handle, too.
        if let timer = timers[id], timer.plan.target == nil, !timer.isRunning { end(id, .handleReleased) }
        expect(.done)
    }

    private mutating func shutDown() {
        isShutDown = true
        armed = nil
        // In no particular order.
        var expected: Set<Event> = []
        for id in pending {
            timers[id]?.ending = .serviceShutDown
            if timers[id]?.isRunning == false {
                expected.formUnion([.released(id), .ended(id, .serviceShutDown)])
                seen.insert("shut down")
            }
        }
        pending = []
        while let event = events.first, expected.remove(event) != nil { events.removeFirst() }
        if let event = expected.first { differ("\(event) is missing at a shutdown") }
    }

    private mutating func renew() {
        (now, elapsed, nextCare, armed, wakeError, faults) = (start, 0, 1_000_000_000, nil, 0, [])
        isShutDown = false
        expect(.done)
    }

    private var activeTimers: [Seen] {
        pending.sorted().compactMap { timers[$0] }.filter { !isDead($0) }
            .map { timer in
                Seen(
                    id: timer.plan.id,
                    nextDeadline: timer.nextForReader,
                    isPaused: timer.isPaused,
                    ticks: timer.ticks,
                    lastLateness: timer.lastLateness
                )
            }
    }

    // MARK: The ends of timers

    /// Ends a timer. False if it had ended.
    @discardableResult
    private mutating func end(_ id: Int, _ reason: PreciseTimer.EndReason) -> Bool {
        guard let timer = timers[id], !timer.hasEnded else { return false }
        timers[id]?.ending = reason
        pending.removeAll { $0 == id }
        if !timer.isRunning { tellEnd(id, reason) }
        return true
    }

    /// What is heard of an end, and what the user does then.
    private mutating func tellEnd(_ id: Int, _ reason: PreciseTimer.EndReason) {
        seen.insert("\(reason)")
        if events.first != .released(id) { adoptEnds() }
        expectEnd(of: id, reason)
    }

    /// The captures are released, `onEnd` is called, and does what it does.
    private mutating func expectEnd(of id: Int, _ reason: PreciseTimer.EndReason) {
        expect(.released(id), adopting: false)
        expect(.ended(id, reason), adopting: false)
        if reason.hasMoment { for step in timers[id]?.plan.epilogue ?? [] { perform(step) } }
    }

    private func isDead(_ timer: ModelTimer) -> Bool { timer.target.map(dead.contains) ?? false }

    private func isHeldByHandler(_ target: Int) -> Bool {
        timers.values.contains { $0.isRunning && $0.target == target }
    }

    private mutating func die(_ target: Int) {
        dead.insert(target)
        expect(.died(target))
    }

    /// Accepts the ends of timers whose target is dead, which may be found at any moment. To be tried only when the next
    /// event is not the expected one: a look that finds a dead target is modelled as well.
    private mutating func adoptEnds() {
        while let id = endOfTarget, let timer = timers[id], !timer.hasEnded, isDead(timer) {
            timers[id]?.ending = .targetReleased
            pending.removeAll { $0 == id }
            expectEnd(of: id, .targetReleased)
            seen.insert("\(PreciseTimer.EndReason.targetReleased)")
        }
    }

    /// The timer of which the next events are an end for a dead target.
    private var endOfTarget: Int? {
        guard case .ended(let id, .targetReleased) = events.prefix(2).last, events.first == .released(id) else {
            return nil
        }
        return id
    }

    /// Where time has been moved by a second since the last time, no timer of a dead target is left.
    private mutating func findDeadTargets() {
        guard elapsed >= nextCare else { return }
        nextCare = elapsed + 1_000_000_000
        adoptEnds()
        guard let id = pending.first(where: { timers[$0].map(isDead) ?? false }) else { return }
        differ("timer \(id) has not ended, though its target is dead and a second has passed")
    }

    // MARK: Time

    private mutating func pass(_ nanoseconds: UInt64) {
        now += nanoseconds
        elapsed += nanoseconds
    }

    private mutating func advance(by nanoseconds: UInt64) {
        if isFiring { return pass(nanoseconds) }
        var last = elapsed + nanoseconds
        while difference == nil {
            let firing: UInt64? =
                isShutDown
                ? nil
                : armed.map {
                    elapsed + UInt64(max(0, Int64($0) - Int64(now) + wakeError))
                }
            if let fault = faults.first, fault.at <= last, fault.at <= firing ?? .max {
                happen(fault)
                last = max(last, elapsed)
            } else if let firing, firing <= last {
                pass(firing - elapsed)
                (wakeError, armed) = (0, nil)
                look()
            } else {
                break
            }
        }
        pass(max(last, elapsed) - elapsed)
    }

    private mutating func happen(_ fault: Fault) {
        pass(fault.at - min(elapsed, fault.at))
        faults.removeFirst()
        switch fault.fault {
        case .wakeLate(let delay): wakeError += delay.wholeNanoseconds
        case .wakeEarly(let lead): wakeError -= lead.wholeNanoseconds
        case .stall(let length): pass(UInt64(length.wholeNanoseconds))
        case .stepClock(let step): now = UInt64(Int64(now) + step.wholeNanoseconds)
        }
        seen.insert("fault")
    }

    private var nextLook: UInt64? {
        pending.compactMap { timers[$0] }.filter(\.isWaiting).compactMap(\.look).filter { $0 != .max }.min()
    }

    /// What may have made an earlier deadline the earliest sets the alarm; a look does so at its end.
    private mutating func setAlarm() {
        guard !isFiring, let next = nextLook, next < armed ?? .max else { return }
        armed = next
    }

    // MARK: Looks

    private mutating func look() {
        let look = now
        isFiring = true
        var claims: [Claim] = []
        for id in pending {
            guard let timer = timers[id], timer.isWaiting, let next = timer.next, timer.look.map({ $0 <= look }) == true
            else { continue }
            claims.append(Claim(id: id, deadline: next, order: timer.order))
            timers[id]?.isInDelivery = true
            timers[id]?.burst = 0
        }
        if claims.isEmpty { seen.insert("spare look") }
        while difference == nil,
            let first = claims.indices.min(by: {
                (claims[$0].deadline, claims[$0].order) < (claims[$1].deadline, claims[$1].order)
            })
        {
            let claim = claims.remove(at: first)
            deliver(claim, lookedAt: look)
            guard let timer = timers[claim.id], !timer.hasEnded else { continue }
            // A rescheduled timer starts anew with its next look.
            let isOfSameSchedule = timer.order == claim.order
            if isOfSameSchedule, timer.mayCatchUp, !timer.isPaused, let next = timer.next, next <= look {
                claims.append(Claim(id: claim.id, deadline: next, order: claim.order))
                seen.insert("again")
                continue
            }
            timers[claim.id]?.isInDelivery = false
            if timer.next == nil { end(claim.id, .completed) }
        }
        isFiring = false
        setAlarm()
    }

    /// The turn of a timer in a look.
    private mutating func deliver(_ claim: Claim, lookedAt look: UInt64) {
        let id = claim.id
        defer {
            let now = now
            timers[id]?.handlerReturned(at: now)
        }
        guard let timer = timers[id], !timer.hasEnded, !timer.isPaused, timer.order == claim.order,
            let tick = timers[id]?.takeTick(at: look)
        else {
            seen.insert("void")
            return
        }
        if isDead(timer) {
            end(id, .targetReleased)
            return
        }
        if tick.missed > 0 { seen.insert("missed") }
        if timer.extra != nil, timers[id]?.extra == nil { seen.insert("extra") }
        let woke = max(look, tick.deadline)
        let delivered = max(now, woke)
        let facts = TickFacts(
            index: tick.index,
            deadline: tick.deadline,
            woke: woke,
            delivered: delivered,
            missed: tick.missed
        )
        expect(.tick(id, facts))
        timers[id]?.isRunning = true
        timers[id]?.calls += 1
        for cue in timer.plan.script where cue.call == timer.calls { perform(cue.step) }
        timers[id]?.isRunning = false
        timers[id]?.ticks += 1
        timers[id]?.lastLateness = delivered - tick.deadline
        handlerReturned(id)
    }

    /// What the delivery held is let go.
    private mutating func handlerReturned(_ id: Int) {
        guard let timer = timers[id] else { return }
        if let target = timer.target, !targets.values.contains(target) { die(target) }
        if let ending = timer.ending {
            seen.insert("ended inside")
            tellEnd(id, ending)
        } else if timer.target == nil, !timer.hasHandle {
            end(id, .handleReleased)
        }
    }

    // MARK: Small things

    private mutating func takeOrder() -> Int {
        schedules += 1
        return schedules
    }

    private mutating func expect(_ event: Event, adopting: Bool = true) {
        if adopting, events.first != event { adoptEnds() }
        guard difference == nil else { return }
        guard let actual = events.popFirst() else { return differ("\(event) is missing") }
        if actual != event { differ("expected \(event), but saw \(actual)") }
    }

    private mutating func differ(_ text: String) { difference = difference ?? text }
}
