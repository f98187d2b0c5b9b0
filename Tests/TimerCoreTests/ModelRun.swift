import TestSupport
@_spi(Engine) import TimerCore

/// A scheduler and its model, to which the same things happen.
struct ModelRun: ~Copyable {
    /// A timer on its way to its handler, or inside of it.
    private struct Delivery {
        let timer: TimerEntry
        /// The number of the look that waits for it; nil for a hop.
        let inline: Int?
        /// When its tick was decided on, and whether it has one.
        var look: UInt64?
        var ticks = false
    }

    private var scheduler = Scheduler()
    private var model: [NaiveTimer] = []
    private var deliveries: [Delivery] = []
    private var random: SeededGenerator
    private var now: UInt64 = 1
    private var orders = 0
    private var armed: UInt64?
    /// The look that is going on, and how many there have been.
    private var look: UInt64?
    private var looks = 0
    /// Whether the timers of this look are known, and whether there are no more of them.
    private var isGathered = false
    private var isDone = false
    private var repeats = 0
    /// What the scheduler did otherwise than the model.
    private(set) var difference: String?
    /// The branches that were taken.
    private(set) var seen: Set<String> = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// Does one thing, and says what.
    mutating func operate() -> String {
        let kind = Int.random(in: 0..<400, using: &random)
        switch kind {
        case 0: return named("close") { $0.close() }
        case 1..<6: return named("end of a closed timer") { $0.endClosing() }
        case 6..<40: return named("add") { $0.add() }
        case 40..<55: return named("end") { $0.end() }
        case 55..<70: return named("pause") { $0.pause() }
        case 70..<90: return named("resume") { $0.resume() }
        case 90..<110: return named("reschedule") { $0.reschedule() }
        case 110..<130: return named("fire") { $0.fire() }
        case 130..<180: return named("move") { $0.now += .random(in: 0...(kind < 133 ? 1_000 : 40), using: &$0.random) }
        case 180..<210: return named("look") { $0.look == nil ? $0.beginLook() : $0.endLook() }
        case 210..<310: return named("next") { $0.next() }
        case 310..<340: return named("begin") { $0.begin() }
        default: return named("finish") { $0.finish() }
        }
    }

    private mutating func named(_ name: String, _ body: (inout ModelRun) -> Void) -> String {
        body(&self)
        check()
        return name
    }

    /// Lets all timers go on, and looks whenever the alarm is set to, until it is set to a later instant.
    mutating func settle() {
        while scheduler.closing != nil { endClosing() }
        for position in model.indices where model[position].isPaused && !model[position].hasEnded {
            carryOut(scheduler.resume(model[position].timer))
            model[position].isPaused = false
        }
        let end = now + 200
        for _ in 0..<100_000 {
            check()
            if difference != nil { return }
            if look != nil || !deliveries.isEmpty {
                if isDone { endLook() } else { next() }
                begin()
                finish()
            } else if let armed, armed <= end {
                now = max(now, armed)
                beginLook()
            } else {
                now = end
                return
            }
        }
        difference = "it does not come to rest"
    }

    /// Nothing is lost: the timers whose ticks do not account for all that has passed by their grid alone.
    var unaccounted: Int {
        model.count {
            !$0.hasEnded && $0.tolerance == 0 && $0.accounted != $0.passedBefore + $0.grid.passed(at: now)
        }
    }

    // MARK: What callers ask for

    private mutating func add() {
        guard model.count(where: { !$0.hasEnded }) < 40 else { return }
        let (grid, isPaused) = (randomGrid(), Int.random(in: 0..<8, using: &random) == 0)
        let policies: [LatePolicy] = [
            .skip, .delay, .catchUp(limit: 1), .catchUp(limit: 3), .catchUp(limit: 100),
        ]
        let policy = policies[Int.random(in: 0..<5, using: &random)]
        let tolerance: UInt64 = Bool.random(using: &random) ? 0 : .random(in: 0...20, using: &random)
        let (entry, order) = scheduler.add(grid.grid, policy: policy, tolerance: tolerance, isPaused: isPaused)
        var timer = NaiveTimer(
            timer: entry,
            order: takeOrder(),
            grid: grid,
            policy: policy,
            tolerance: tolerance,
            isOnDemand: grid.kind == .onDemand
        )
        timer.isPaused = isPaused
        model.append(timer)
        carryOut(order)
    }

    private mutating func end() {
        guard let position = randomTimer() else { return }
        expect(scheduler.end(model[position].timer), !model[position].hasEnded, "end")
        noteEnd(of: position)
    }

    private mutating func pause() {
        guard let position = randomTimer() else { return }
        let timer = model[position]
        expect(scheduler.pause(timer.timer), !timer.hasEnded && !timer.isPaused, "pause")
        if !timer.hasEnded { (model[position].isPaused, model[position].isOfThisLook) = (true, false) }
    }

    private mutating func resume() {
        guard let position = randomTimer() else { return }
        let timer = model[position]
        let order = scheduler.resume(timer.timer)
        expect(order != nil, !timer.hasEnded && timer.isPaused, "resume")
        if order != nil { model[position].isPaused = false }
        carryOut(order)
    }

    private mutating func reschedule() {
        guard let position = randomTimer() else { return }
        let grid = randomGrid()
        let order = scheduler.reschedule(model[position].timer, on: grid.grid)
        expect(order != nil, !model[position].hasEnded, "reschedule")
        if order != nil { model[position].reschedule(on: grid, order: takeOrder()) }
        carryOut(order)
    }

    private mutating func fire() {
        guard let position = randomTimer() else { return }
        let order = scheduler.fire(model[position].timer, at: now)
        expect(order != nil, !model[position].hasEnded, "fire")
        if order != nil {
            model[position].extra = model[position].extra ?? now
            model[position].isOfThisLook = false
        }
        carryOut(order)
    }

    private mutating func close() {
        scheduler.close()
        for position in model.indices where !model[position].hasEnded {
            (model[position].isClosing, model[position].isOfThisLook) = (true, false)
        }
        (look, armed) = (nil, nil)
        seen.insert("close")
    }

    private mutating func endClosing() {
        let closing = scheduler.closing
        expect(closing != nil, model.contains { $0.isClosing && !$0.hasEnded }, "a timer to be ended")
        guard let closing, let position = position(of: closing) else { return }
        expect(model[position].isClosing, true, "the timer was there at the close")
        expect(scheduler.end(closing, .serviceShutDown), !model[position].hasEnded, "end of a closed timer")
        noteEnd(of: position)
    }

    // MARK: From deadline to tick

    private mutating func beginLook() {
        scheduler.beginLook(at: now)
        (look, armed, isGathered, isDone, repeats) = (now, nil, false, false, Scheduler.portion)
        looks += 1
    }

    private mutating func endLook() {
        guard isDone else { return }
        look = nil
        carryOut(scheduler.endLook())
    }

    private mutating func next() {
        guard let look, !deliveries.contains(where: { $0.inline == looks }) else { return }
        if !isGathered { for position in model.indices { model[position].isOfThisLook = model[position].isDue(at: look) } }
        isGathered = true
        let expected = model.filter(\.isOfThisLook)
            .min { ($0.next ?? 0, $0.order) < ($1.next ?? 0, $1.order) }
        switch scheduler.next() {
        case .notFound: seen.insert("notFound")
        case .none:
            expect(nil, expected?.order, "nothing is due")
            isDone = true
        case .of(let timer):
            guard let position = position(of: timer) else { return }
            expect(model[position].order, expected?.order, "the timer whose turn it is")
            (model[position].isOfThisLook, model[position].isInDelivery) = (false, true)
            let isHop = Int.random(in: 0..<3, using: &random) == 0
            deliveries.append(Delivery(timer: timer, inline: isHop ? nil : looks))
            if !isHop { begin(deliveries.count - 1, at: look) }
        }
    }

    private mutating func begin() {
        guard let chosen = deliveries.indices.filter({ deliveries[$0].look == nil }).randomElement(using: &random)
        else { return }
        begin(chosen, at: now)
    }

    private mutating func begin(_ chosen: Int, at look: UInt64) {
        guard let position = position(of: deliveries[chosen].timer) else { return }
        let expected = model[position].mayTick ? model[position].tick(at: look) : nil
        let due = scheduler.begin(deliveries[chosen].timer, at: look)
        expect(due, expected, "tick")
        (deliveries[chosen].look, deliveries[chosen].ticks) = (look, due != nil)
        if let due, due.missed > 0 { seen.insert("missed") }
        if due == nil { seen.insert("void") }
    }

    private mutating func finish() {
        guard let chosen = deliveries.indices.filter({ deliveries[$0].look != nil }).randomElement(using: &random),
            let began = deliveries[chosen].look, let position = position(of: deliveries[chosen].timer)
        else { return }
        let delivery = deliveries.remove(at: chosen)
        let isHop = delivery.inline == nil && delivery.ticks
        let sequel = scheduler.finish(delivery.timer, lookedAt: began, byHop: isHop, now: now)
        model[position].isInDelivery = false
        model[position].handlerReturned(at: now)
        let catchesUp = model[position].catchesUp(at: began)
        let name: String
        if model[position].hasEnded {
            name = "hasEnded"
        } else if catchesUp, isHop {
            name = "again"
            model[position].isInDelivery = true
            deliveries.append(Delivery(timer: delivery.timer, inline: nil))
        } else if model[position].next == nil, !model[position].isOnDemand {
            name = "completes"
            noteEnd(of: position)
        } else {
            name = "waits"
            if catchesUp { goOn(position) }
        }
        switch sequel {
        case .waits(let order):
            expect("waits", name, "sequel")
            carryOut(order)
        case .again: expect("again", name, "sequel")
        case .completes: expect("completes", name, "sequel")
        case .hasEnded: expect("hasEnded", name, "sequel")
        }
        seen.insert(name)
        forgetIfOver(delivery.timer)
    }

    /// Another late tick comes in the same look, if the look still has room for it.
    private mutating func goOn(_ position: Int) {
        repeats -= 1
        seen.insert(repeats < 0 ? "portion" : "repeat")
        if let look, repeats >= 0 { model[position].isOfThisLook = model[position].isDue(at: look) }
    }

    // MARK: Small things

    private mutating func takeOrder() -> Int {
        defer { orders += 1 }
        return orders
    }

    private mutating func randomTimer() -> Int? { model.indices.randomElement(using: &random) }

    private func position(of timer: TimerEntry) -> Int? { model.firstIndex { $0.timer == timer } }

    private mutating func randomGrid() -> NaiveGrid {
        let kinds: [NaiveGrid.Kind] = [.every, .every, .every, .every, .afterReturn, .afterReturn, .once, .onDemand]
        return NaiveGrid(
            kind: kinds[Int.random(in: 0..<8, using: &random)],
            origin: now + .random(in: 0...60, using: &random),
            period: .random(in: 1...50, using: &random)
        )
    }

    private mutating func noteEnd(of position: Int) {
        (model[position].hasEnded, model[position].isOfThisLook) = (true, false)
        forgetIfOver(model[position].timer)
    }

    private mutating func forgetIfOver(_ timer: TimerEntry) {
        guard let position = position(of: timer), model[position].hasEnded, !model[position].isInDelivery else {
            return
        }
        // Some are kept for a while, as by a handle.
        guard Bool.random(using: &random) || model.count > 60 else { return }
        model.remove(at: position)
    }

    private mutating func carryOut(_ order: Scheduler.AlarmOrder?) {
        guard case .set(let deadline) = order else { return }
        expect(look, nil, "during a look there are no orders")
        expect(armed.map { deadline < $0 } ?? true, true, "an order that was spared")
        armed = deadline
        seen.insert("set")
    }

    private mutating func check() {
        if let broken = scheduler.brokenInvariant { difference = difference ?? broken }
        expect(scheduler.count, model.count { !$0.hasEnded }, "count")
        let exact = model.filter(\.isWaiting).compactMap(\.look).min()
        let isClosing = scheduler.closing != nil
        expect(scheduler.nextLook != nil || isClosing, exact != nil || isClosing, "whether there is a next look")
        if let exact {
            expect(scheduler.nextLook.map { $0 <= exact } ?? false, true, "the next look is no later than the exact one")
            if look == nil { expect(armed.map { $0 <= exact } ?? false, true, "the alarm is set in time") }
            if scheduler.nextLook != exact { seen.insert("postponed") }
        }
        for timer in model where !timer.hasEnded {
            expect(timer.timer.comingDeadline, timer.next, "next deadline")
            if timer.extra != nil { seen.insert("extra") }
        }
    }

    private mutating func expect<Value: Equatable>(_ value: Value, _ expected: Value, _ what: String) {
        if value != expected { difference = difference ?? "\(what): \(value), and not \(expected)" }
    }
}
