import PreciseTimer
import TestSupport

/// A scheduler and its model, which undergo the same operations.
struct ModelRun: ~Copyable {
    private var scheduler = Scheduler()
    private var model: [NaiveTimer] = []
    private var random: SeededGenerator
    /// The maximum number of timers.
    private let capacity: Int
    /// Whether every second operation picks a timer that is about to have its turn, if such a timer exists.
    private let prefersTurns: Bool
    private var now: UInt64 = 1
    private var orders = 0
    private var armed: UInt64?
    /// Whether a service would have an alarm: after a close, not before the next timer is added.
    private var hasAlarm = true
    /// The period in nanoseconds, if the alarm repeats by itself.
    private var goesOnEvery: UInt64?
    /// The present round, the number of rounds, and how many repeats the round still has room for.
    private var round: UInt64?
    private var rounds = 0
    private var repeats = 0
    /// Whether the timers of this round are known, and whether all of them have had their turn.
    private var isGathered = false
    private var isDone = false
    /// The first difference between the scheduler and the model.
    private(set) var difference: String?
    /// The branches that the run has taken.
    private(set) var seen: Set<String> = []

    init(seed: UInt64, capacity: Int) {
        random = SeededGenerator(seed: seed)
        self.capacity = capacity
        prefersTurns = seed % 2 == 0
    }

    /// Performs one random operation.
    mutating func operate() {
        let isBetween = prefersTurns && Bool.random(using: &random)
        let waiting = isBetween ? randomTimer { $0.isOfThisRound && $0.isWaiting } : nil
        guard let position = waiting ?? randomTimer() else { return add() }
        let kind = Int.random(in: 0..<1_000, using: &random)
        switch kind {
        case 0: close()
        case 1..<10: endClosing()
        case 10..<50: add()
        case 50..<70: end(position)
        case 70..<100: pause(position)
        case 100..<150: resume(position)
        case 150..<190: reschedule(position)
        case 190..<230: fire(position)
        case 230..<300: now += .random(in: 0...(kind < 240 ? 4_000 : kind < 270 ? 40 : 8), using: &random)
        case 300..<370: round == nil ? beginRound() : endRound()
        case 370..<650: next()
        case 650..<750: begin()
        default: finish()
        }
        check()
        // Some ended timers are kept for a while, as a handle keeps them.
        if model.count > 60 { model.removeAll { $0.hasEnded && !$0.isInDelivery } }
    }

    /// Resumes all timers and begins a round at each instant of the alarm, until the alarm is set to an instant after
    /// the end.
    mutating func settle() {
        while scheduler.closing != nil, difference == nil { endClosing() }
        for position in model.indices where model[position].isPaused { resume(position) }
        let end = now + 200
        for _ in 0..<100_000 where difference == nil {
            check()
            if round != nil || model.contains(where: \.isInDelivery) {
                if isDone { endRound() } else { next() }
                begin()
                finish()
            } else if let armed, armed <= end {
                now = max(now, armed)
                beginRound()
            } else {
                now = end
                return
            }
        }
        difference = difference ?? "the timers do not settle"
    }

    /// The number of timers whose ticks do not account for every deadline of their grid that has passed. It must
    /// be 0. No tick accounts for the deadlines after the last tick of a schedule.
    var unaccounted: Int {
        model.count { timer in
            !timer.hasEnded && timer.tolerance == 0 && !timer.isSpent
                && timer.accounted != timer.passedBefore + timer.grid.passed(at: now)
        }
    }

    // MARK: Requests

    private mutating func add() {
        guard model.count(where: { !$0.hasEnded }) < capacity else { return }
        let policies: [LatePolicy] = [.skip, .delay, .catchUp(limit: 1), .catchUp(limit: 3), .catchUp(limit: 100)]
        let (grid, policy) = (randomGrid(), policies[Int.random(in: 0..<5, using: &random)])
        let tolerance: UInt64 = Bool.random(using: &random) ? 0 : .random(in: 0...20, using: &random)
        let isPaused = Int.random(in: 0..<8, using: &random) == 0
        let (timer, order) = scheduler.add(grid.schedule, policy: policy, tolerance: tolerance, isPaused: isPaused)
        orders += 1
        var naive = NaiveTimer(timer: timer, order: orders, grid: grid, policy: policy, tolerance: tolerance)
        (naive.isPaused, naive.isOnDemand) = (isPaused, grid.repetition == .onDemand)
        model.append(naive)
        hasAlarm = true
        carryOut(order)
    }

    private mutating func end(_ position: Int) {
        expect(scheduler.end(model[position].timer), !model[position].hasEnded, "end")
        model[position].hasEnded = true
    }

    private mutating func pause(_ position: Int) {
        let timer = model[position]
        let holds = Int.random(in: 0..<3, using: &random) == 0
        let isPausing = scheduler.pause(timer.timer)
        if holds, isPausing { timer.timer.timing.hold(at: now) }
        expect(isPausing, !timer.hasEnded && !timer.isPaused, "pause")
        guard !timer.hasEnded else { return }
        if holds, !timer.isPaused { model[position].heldSince = now }
        (model[position].isPaused, model[position].isOfThisRound) = (true, false)
        if !timer.isPaused, !timer.isInDelivery { model[position].burst = 0 }
    }

    private mutating func resume(_ position: Int) {
        let timer = model[position]
        let order = scheduler.resume(timer.timer, at: now)
        expect(order != nil, !timer.hasEnded && timer.isPaused, "resume")
        if order != nil { model[position].resume(at: now) }
        if order != nil, timer.heldSince != nil { seen.insert("held") }
        carryOut(order)
    }

    private mutating func reschedule(_ position: Int) {
        let grid = randomGrid()
        if model[position].heldSince != nil, !model[position].hasEnded {
            model[position].timer.timing.hold(at: now)
            model[position].heldSince = now
        }
        let order = scheduler.reschedule(model[position].timer, on: grid.schedule)
        expect(order != nil, !model[position].hasEnded, "reschedule")
        orders += 1
        if order != nil { model[position].reschedule(on: grid, order: orders) }
        carryOut(order)
    }

    private mutating func fire(_ position: Int) {
        let order = scheduler.fire(model[position].timer, at: now)
        expect(order != nil, !model[position].hasEnded, "fire")
        if order != nil { model[position].fire(at: now) }
        carryOut(order)
    }

    private mutating func close() {
        scheduler.close()
        for position in model.indices { model[position].isClosing = true }
        (round, armed, goesOnEvery, hasAlarm) = (nil, nil, nil, false)
        seen.insert("close")
    }

    private mutating func endClosing() {
        let closing = scheduler.closing
        expect(closing != nil, model.contains { $0.isClosing && !$0.hasEnded }, "a closing timer")
        if let position = model.firstIndex(where: { $0.timer == closing && $0.isClosing }) { end(position) }
    }

    // MARK: From deadline to tick

    private mutating func beginRound() {
        scheduler.beginRound(at: now)
        (round, isGathered, isDone, repeats) = (now, false, false, Scheduler.batch)
        // A repeating alarm also fires needlessly, and continues after that.
        if let goesOnEvery { while let next = armed, next <= now { armed = next + goesOnEvery } } else { armed = nil }
        rounds += 1
    }

    private mutating func endRound() {
        guard round != nil, isDone else { return }
        round = nil
        carryOut(scheduler.endRound())
        if goesOnEvery != nil {
            expect(armed, scheduler.nextWakeTime, "a repeating alarm is set to the next wake time")
        }
    }

    private mutating func next() {
        guard let round, !model.contains(where: { $0.isInDelivery && $0.inline == rounds }) else { return }
        for position in model.indices where !isGathered {
            model[position].isOfThisRound = model[position].isDue(at: round)
        }
        isGathered = true
        let expected = model.indices.filter { model[$0].isOfThisRound && model[$0].isWaiting }
            .min { (model[$0].next ?? 0, model[$0].order) < (model[$1].next ?? 0, model[$1].order) }
        if let timer = scheduler.firstDue() {
            expect(timer, expected.map { model[$0].timer }, "the timer whose turn comes")
            guard let expected, difference == nil else { return }
            let isHop = model[expected].order % 3 == 0
            model[expected].isTaken(inline: isHop ? nil : rounds)
            if isHop { scheduler.send(timer) } else { begin(expected, at: round) }
        } else if scheduler.hasDue {
            seen.insert("notFound")
        } else {
            expect(nil, expected, "nothing is due")
            isDone = true
        }
    }

    private mutating func begin() {
        if let position = randomTimer({ $0.isInDelivery && $0.began == nil }) { begin(position, at: now) }
    }

    private mutating func begin(_ position: Int, at instant: UInt64) {
        let due = scheduler.begin(model[position].timer, at: instant)
        expect(due, model[position].mayTick ? model[position].tick(at: instant) : nil, "tick")
        (model[position].began, model[position].hasTick) = (instant, due != nil)
        seen.insert(due.map { $0.missed > 0 ? "missed" : "tick" } ?? "void")
    }

    private mutating func finish() {
        guard let position = randomTimer({ $0.isInDelivery && $0.began != nil }) else { return }
        let began = model[position].began ?? 0
        let (timer, isHop) = (model[position].timer, model[position].inline == nil && model[position].hasTick)
        let after = scheduler.finish(timer, decidedAt: began, byHop: isHop, now: now)
        model[position].isInDelivery = false
        model[position].handlerReturned(at: now)
        let catchesUp = model[position].catchesUp(at: began)
        var name = "waits"
        if model[position].hasEnded {
            name = "hasEnded"
        } else if catchesUp, isHop {
            name = "again"
            model[position].isTaken(inline: nil)
        } else if model[position].next == nil, !model[position].isOnDemand {
            name = "completes"
            model[position].hasEnded = true
        } else if catchesUp, round != nil, !model[position].isClosing {
            // Another late tick comes in the same round, if the round still has room for it.
            repeats -= 1
            seen.insert(repeats < 0 ? "batch" : "repeat")
            if repeats >= 0 { model[position].isOfThisRound = model[position].isWaiting }
        }
        if model[position].isSpent { seen.insert("spent, \(name)\(model[position].isOnDemand ? " on demand" : "")") }
        expect(String("\(after)".prefix { $0 != "(" }), name, "after the delivery")
        if case .waits(let order) = after { carryOut(order) }
        seen.insert(name)
    }

    // MARK: Helpers

    private mutating func randomTimer(_ isMeant: (NaiveTimer) -> Bool = { _ in true }) -> Int? {
        model.indices.filter { isMeant(model[$0]) }.randomElement(using: &random)
    }

    private mutating func randomGrid() -> NaiveGrid {
        let (origin, period) = (now + .random(in: 0...60, using: &random), UInt64.random(in: 1...50, using: &random))
        let (every, fixedDelay) = (Repetition.every(period), Repetition.fixedDelay(period))
        let repetitions = [every, every, every, every, fixedDelay, fixedDelay, .once, .onDemand]
        return NaiveGrid(
            repetition: repetitions[Int.random(in: 0..<8, using: &random)],
            origin: origin,
            period: period,
            count: Int.random(in: 0..<3, using: &random) == 0 ? .random(in: 1...6, using: &random) : nil
        )
    }

    private mutating func carryOut(_ order: AlarmOrder?) {
        if order == .disarm {
            expect(goesOnEvery != nil, true, "only a repeating alarm is disarmed")
            (armed, goesOnEvery) = (nil, nil)
            seen.insert("disarmed")
        }
        guard case .set(let deadline) = order else { return }
        expect(round, nil, "during a round there are no orders")
        expect(hasAlarm, true, "an order without an alarm would be lost")
        expect(goesOnEvery != nil || armed.map { deadline < $0 } ?? true, true, "an order that was not needed")
        (armed, goesOnEvery) = (deadline, nil)
        seen.insert("set")
        if let period = scheduler.periodFromNext, Bool.random(using: &random) {
            scheduler.alarmGoesOn(every: period)
            goesOnEvery = period
            seen.insert("repetition")
        }
    }

    private mutating func check() {
        if let broken = scheduler.brokenInvariant { difference = difference ?? broken }
        expect(scheduler.count, model.count { !$0.hasEnded }, "count")
        let (first, exact) = (scheduler.nextWakeTime, model.filter(\.isWaiting).compactMap(\.wakeTime).min())
        // Timers that are closing are still queued, and a timer that the round has called may keep its position.
        let isCalling = model.contains { $0.isInDelivery && $0.inline != nil }
        if scheduler.closing == nil, !isCalling {
            expect(first != nil, exact != nil, "whether there is a next wake time")
        }
        if let exact {
            expect(first.map { $0 <= exact } ?? false, true, "the next wake time is no later than the exact one")
            if round == nil { expect(armed.map { $0 <= exact } ?? false, true, "the alarm is set in time") }
            if first != exact { seen.insert("postponed") }
        }
        for timer in model where !timer.hasEnded {
            expect(timer.timer.timing.nextDeadline, timer.next ?? .max, "next deadline")
            if timer.extra != nil { seen.insert("extra") }
        }
    }

    private mutating func expect<Value: Equatable>(_ value: Value, _ expected: Value, _ what: String) {
        if value != expected { difference = difference ?? "\(what) is \(value) instead of \(expected)" }
    }
}
