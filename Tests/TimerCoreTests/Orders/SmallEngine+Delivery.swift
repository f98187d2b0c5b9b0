@_spi(Engine) import TimerCore

/// The steps from a firing of the alarm to the handlers. They mirror ServiceState+Delivery.swift.
extension SmallEngine {
    /// Begins a look. Returns nil if an earlier run's alarm has fired.
    mutating func look(_ run: Int, by thread: Int) -> UInt64? {
        guard run == self.run, hasAlarm else { return nil }
        var woke = now
        if let next = scheduler.nextLook, next > woke, next - woke <= lead { woke = next }
        note(8, 0, woke, by: thread)
        scheduler.beginLook(at: woke)
        (hasNews, isFirstTurn, callsAtLook) = (false, true, history.calls)
        return woke
    }

    /// The next step of a look.
    mutating func nextTurn(_ run: Int, lookedAt woke: UInt64, by thread: Int, _ fault: inout String?) -> Turn {
        guard run == self.run else { return .done }
        note(9, by: thread)
        isFirstTurn = false
        guard case .of(let entry) = scheduler.next(), let timer = entry as? SmallTimer else {
            let order = scheduler.endLook()
            if plant != .forgetsTimersAddedDuringALook || !hasNews { arm(order) }
            return .done
        }
        if timer.plan.hops || timer.plan.isConsumed { return .send(timer.number) }
        note(10, timer.number, woke, by: thread)
        guard let due = scheduler.begin(timer, at: woke) else { return .send(timer.number) }
        fault = fault ?? timer.expect(due, lookedAt: woke)
        timer.runner = thread
        return .call(timer.number, due)
    }

    /// Decides the tick of a hop that has arrived; nil if the timer must not tick.
    mutating func begin(_ timer: SmallTimer, lookedAt look: UInt64, by thread: Int, _ fault: inout String?) -> Due? {
        note(10, timer.number, look, by: thread)
        if let due = scheduler.begin(timer, at: look) {
            fault = fault ?? timer.expect(due, lookedAt: look)
            timer.runner = thread
            return due
        }
        note(11, timer.number, look, look, by: thread)
        timer.finish(lookedAt: look, now: look)
        timer.moves = 0
        if case .waits(let order) = scheduler.finish(timer, lookedAt: look, now: look) { arm(order) }
        return nil
    }

    /// Ends a delivery. Nothing was served if the target was released.
    mutating func finish(
        _ timer: SmallTimer,
        lookedAt look: UInt64,
        wasServed: Bool,
        byHop: Bool,
        by thread: Int
    ) -> Outcome {
        timer.runner = nil
        if !wasServed { _ = end(timer, .targetReleased, by: thread) }
        let now = timer.awaitsReturn && hasAlarm ? now : look
        note(byHop ? 12 : 13, timer.number, look, now, by: thread)
        timer.finish(lookedAt: look, now: now)
        timer.moves = 0
        switch scheduler.finish(timer, lookedAt: look, byHop: byHop, now: now) {
        case .waits(let order):
            if plant != .forgetsTheOrderAfterAHop || !byHop { arm(order) }
            // During a look there is no order, so `deliverDue` expects no failure.
            if !byHop { failure = nil }
            return .waits
        case .again: return .again
        case .completes, .hasEnded:
            takeServiceIfIdle()
            return .ended
        }
    }
}
