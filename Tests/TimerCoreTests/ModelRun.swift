import TestSupport
import TimerCore

/// A scheduler and its model, to which the same things happen.
struct ModelRun {
    /// A timer on its way to its handler, or inside of it.
    private struct Delivery {
        var claim: Claim
        var look: UInt64?
    }

    private var scheduler = Scheduler()
    private var model: [NaiveTimer] = []
    private var deliveries: [Delivery] = []
    private var random: SeededGenerator
    private var now: UInt64 = 1
    private var orders = 0
    private var armed: UInt64?
    private var isFiring = false
    /// What the scheduler did otherwise than the model.
    private(set) var difference: String?
    /// The branches that were taken.
    private(set) var seen: Set<String> = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// Does one thing, and says what.
    mutating func operate() -> String {
        let kind = Int.random(in: 0..<20, using: &random)
        switch kind {
        case 0, 1: return named("add") { $0.add() }
        case 2: return named("end") { $0.end() }
        case 3: return named("pause") { $0.pause() }
        case 4: return named("resume") { $0.resume() }
        case 5: return named("reschedule") { $0.reschedule() }
        case 6: return named("fire") { $0.fire() }
        case 7, 8, 9: return named("move") { $0.now += .random(in: 0...40, using: &$0.random) }
        case 10, 11, 12: return named("expire") { $0.isFiring ? $0.finishFiring() : $0.expire() }
        case 13, 14, 15: return named("begin") { $0.begin() }
        default: return named("finish") { $0.finish() }
        }
    }

    private mutating func named(_ name: String, _ body: (inout ModelRun) -> Void) -> String {
        body(&self)
        check()
        return name
    }

    /// Lets all timers go on until nothing is due.
    mutating func settle() {
        for position in model.indices where model[position].isPaused && !model[position].hasEnded {
            carryOut(scheduler.resume(model[position].id))
            model[position].isPaused = false
        }
        for _ in 0..<1_000 {
            if isFiring { finishFiring() }
            while !deliveries.isEmpty {
                begin()
                finish()
            }
            check()
            guard difference == nil, model.contains(where: { $0.isWaiting && $0.look.map { $0 <= now } ?? false })
            else { return }
            expire()
        }
        difference = difference ?? "it does not come to rest"
    }

    /// Nothing is lost: by the grid alone, what each timer's ticks should have accounted for by now.
    var unaccounted: [TimerID] {
        model.filter { !$0.hasEnded && $0.tolerance == 0 && $0.accounted != $0.passedBefore + $0.grid.passed(at: now) }
            .map(\.id)
    }

    // MARK: What callers ask for

    private mutating func add() {
        guard model.count(where: { !$0.hasEnded }) < 40 else { return }
        let (grid, isPaused) = (randomGrid(), Int.random(in: 0..<8, using: &random) == 0)
        let policies: [LatePolicy] = [.skip, .delay, .catchUp(limit: 1), .catchUp(limit: 3)]
        let policy = policies[Int.random(in: 0..<4, using: &random)]
        let tolerance: UInt64 = Bool.random(using: &random) ? 0 : .random(in: 0...20, using: &random)
        let (id, order) = scheduler.add(grid.grid, policy: policy, tolerance: tolerance, isPaused: isPaused)
        var timer = NaiveTimer(id: id, order: takeOrder(), grid: grid, policy: policy, tolerance: tolerance)
        timer.isPaused = isPaused
        model.append(timer)
        carryOut(order)
    }

    private mutating func end() {
        guard let position = randomTimer() else { return }
        let id = model[position].id
        expect(scheduler.end(id), !model[position].hasEnded, "end")
        model[position].hasEnded = true
        forgetIfOver(id)
    }

    private mutating func pause() {
        guard let position = randomTimer() else { return }
        let timer = model[position]
        expect(scheduler.pause(timer.id), !timer.hasEnded && !timer.isPaused, "pause")
        if !timer.hasEnded { model[position].isPaused = true }
    }

    private mutating func resume() {
        guard let position = randomTimer() else { return }
        let timer = model[position]
        let order = scheduler.resume(timer.id)
        expect(order != nil, !timer.hasEnded && timer.isPaused, "resume")
        if order != nil { model[position].isPaused = false }
        carryOut(order)
    }

    private mutating func reschedule() {
        guard let position = randomTimer() else { return }
        let grid = randomGrid()
        let order = scheduler.reschedule(model[position].id, on: grid.grid)
        expect(order != nil, !model[position].hasEnded, "reschedule")
        if order != nil { model[position].reschedule(on: grid, order: takeOrder()) }
        carryOut(order)
    }

    private mutating func fire() {
        guard let position = randomTimer() else { return }
        let order = scheduler.fire(model[position].id, at: instant(now))
        expect(order != nil, !model[position].hasEnded, "fire")
        if order != nil { model[position].extra = model[position].extra ?? now }
        carryOut(order)
    }

    // MARK: From deadline to tick

    private mutating func expire() {
        var claims: [Claim] = []
        scheduler.expire(at: instant(now), into: &claims)
        (isFiring, armed) = (true, nil)
        let due = model.indices.filter { model[$0].isWaiting && model[$0].look.map { $0 <= now } ?? false }
            .sorted { (model[$0].next ?? 0, model[$0].order) < (model[$1].next ?? 0, model[$1].order) }
        expect(claims.map(\.timer), due.map { model[$0].id }, "claimed timers")
        expect(claims.map(\.deadline.nanoseconds), due.map { model[$0].next ?? 0 }, "claimed deadlines")
        for position in due {
            model[position].isInDelivery = true
            model[position].burst = 0
        }
        deliveries += claims.map { Delivery(claim: $0) }
    }

    private mutating func finishFiring() {
        isFiring = false
        carryOut(scheduler.finishFiring())
    }

    private mutating func begin() {
        guard let chosen = deliveries.indices.filter({ deliveries[$0].look == nil }).randomElement(using: &random),
            let position = position(of: deliveries[chosen].claim.timer)
        else { return }
        let isValid = orderOf(deliveries[chosen].claim) == model[position].order
        let mayTick = isValid && !model[position].hasEnded && !model[position].isPaused
        let expected = mayTick ? model[position].tick(at: now) : nil
        let due = scheduler.begin(deliveries[chosen].claim, at: instant(now))
        expect(due, expected, "tick")
        deliveries[chosen].look = now
        if let due, due.missed > 0 { seen.insert("missed") }
        if due == nil { seen.insert("void") }
    }

    private mutating func finish() {
        guard let chosen = deliveries.indices.filter({ deliveries[$0].look != nil }).randomElement(using: &random),
            let look = deliveries[chosen].look, let position = position(of: deliveries[chosen].claim.timer)
        else { return }
        let claim = deliveries.remove(at: chosen).claim
        let isSameSchedule = orderOf(claim) == model[position].order
        let sequel = scheduler.finish(claim, lookedAt: instant(look), now: instant(now))
        model[position].isInDelivery = false
        model[position].handlerReturned(at: now)
        let timer = model[position]
        let isCatchingUp = isSameSchedule && !timer.isPaused && timer.burst > 0 && timer.burst < timer.policy.limit
        let name: String
        if timer.hasEnded {
            name = "hasEnded"
        } else if let next = timer.next {
            name = isCatchingUp && next <= look ? "again" : "waits"
        } else {
            name = "completes"
            model[position].hasEnded = true
        }
        switch sequel {
        case .waits(let order):
            expect("waits", name, "sequel")
            carryOut(order)
        case .again(let another):
            expect("again", name, "sequel")
            model[position].isInDelivery = true
            deliveries.append(Delivery(claim: another))
        case .completes: expect("completes", name, "sequel")
        case .hasEnded: expect("hasEnded", name, "sequel")
        }
        seen.insert(name)
        forgetIfOver(timer.id)
    }

    // MARK: Small things

    /// The order that the model gave to the schedule that a claim is of: both count schedules.
    private func orderOf(_ claim: Claim) -> Int { Int(claim.sequence) }

    /// The number of the next schedule, as the table numbers them.
    private mutating func takeOrder() -> Int {
        defer { orders += 1 }
        return orders
    }

    private mutating func randomTimer() -> Int? { model.indices.randomElement(using: &random) }

    private func position(of timer: TimerID) -> Int? { model.firstIndex { $0.id == timer } }

    private mutating func randomGrid() -> NaiveGrid {
        let origin = now + .random(in: 0...60, using: &random)
        let period: UInt64 = Int.random(in: 0..<5, using: &random) == 0 ? 0 : .random(in: 1...50, using: &random)
        return NaiveGrid(origin: origin, period: period, isAfterReturn: Int.random(in: 0..<4, using: &random) == 0)
    }

    private mutating func forgetIfOver(_ timer: TimerID) {
        guard let position = position(of: timer), model[position].hasEnded, !model[position].isInDelivery else {
            return
        }
        // Some are kept for a while, as by a handle.
        guard Bool.random(using: &random) || model.count > 60 else { return }
        scheduler.forget(timer)
        model.remove(at: position)
    }

    private mutating func carryOut(_ order: Scheduler.AlarmOrder?) {
        guard case .set(let deadline) = order else { return }
        expect(armed.map { deadline.nanoseconds < $0 } ?? true, true, "an order that was spared")
        armed = deadline.nanoseconds
        seen.insert("set")
    }

    private mutating func check() {
        if let broken = scheduler.brokenInvariant { difference = difference ?? broken }
        expect(scheduler.count, model.count { !$0.hasEnded }, "count")
        let look = model.filter(\.isWaiting).compactMap(\.look).min()
        expect(scheduler.nextLook?.nanoseconds, look, "next look")
        if !isFiring, let look { expect(armed.map { $0 <= look } ?? false, true, "the alarm is set in time") }
        for timer in model where !timer.hasEnded {
            expect(scheduler[timer.id]?.nextDeadline?.nanoseconds, timer.next, "next deadline")
            if timer.extra != nil { seen.insert("extra") }
        }
    }

    private mutating func expect<Value: Equatable>(_ value: Value, _ expected: Value, _ what: String) {
        if value != expected { difference = difference ?? "\(what): \(value), and not \(expected)" }
    }
}
