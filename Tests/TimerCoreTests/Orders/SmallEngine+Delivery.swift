import PreciseTimer

/// The steps from a firing of the alarm to the handlers. They mirror Round.swift.
extension SmallEngine {
    /// Begins a round. Returns nil if an earlier epoch's alarm has fired.
    mutating func beginRound(_ epoch: Int, by thread: Int) -> UInt64? {
        guard epoch == self.epoch, hasAlarm else { return nil }
        var woke = now
        if let next = scheduler.nextWakeTime, next > woke, next - woke <= lead { woke = next }
        note(8, 0, woke, by: thread)
        scheduler.beginRound(at: woke)
        (hasNews, isFirstStep, callsAtRound) = (false, true, history.calls)
        return woke
    }

    /// The step of a round after another one, which has called the handler of a timer or not.
    mutating func step(
        _ epoch: Int,
        at woke: UInt64,
        after called: (timer: SmallTimer, wasDelivered: Bool)?,
        by thread: Int,
        _ fault: inout String?
    ) -> Step {
        if let (timer, wasDelivered) = called {
            putBack(timer, wasDelivered, decidedAt: woke, by: thread)
            if !teardown.isEmpty { return .again }
        }
        guard epoch == self.epoch else { return .sleep }
        note(9, by: thread)
        isFirstStep = false
        guard let record = scheduler.firstDue(), let timer = timer(of: record) else {
            if scheduler.hasDue { return .again }
            let order = scheduler.endRound()
            if plant != .forgetsTimersAddedDuringARound || !hasNews { arm(order) }
            return .sleep
        }
        if timer.plan.isInline {
            note(10, timer.number, woke, by: thread)
            if let expiration = scheduler.begin(record, at: woke) {
                fault = fault ?? timer.expect(expiration, decidedAt: woke)
                timer.runner = thread
                return .call(timer.number, expiration)
            }
        }
        scheduler.send(record)
        return .send(timer.number)
    }

    /// Decides the tick of a hop that has arrived; nil if the timer must not tick.
    mutating func begin(
        _ timer: SmallTimer,
        at instant: UInt64,
        by thread: Int,
        _ fault: inout String?
    ) -> Expiration? {
        note(10, timer.number, instant, by: thread)
        if let expiration = scheduler.begin(timer.record, at: instant) {
            fault = fault ?? timer.expect(expiration, decidedAt: instant)
            timer.runner = thread
            return expiration
        }
        note(11, timer.number, instant, instant, by: thread)
        timer.finish(decidedAt: instant, now: instant)
        timer.moves = 0
        arm(scheduler.putBack(timer.record, decidedAt: instant, now: instant))
        return nil
    }

    /// Ends a delivery. No tick was delivered if the target was released.
    mutating func putBack(
        _ timer: SmallTimer,
        _ wasDelivered: Bool,
        decidedAt instant: UInt64,
        byHop: Bool = false,
        by thread: Int
    ) {
        timer.runner = nil
        if !wasDelivered { _ = end(timer, .targetReleased, by: thread) }
        let now = timer.record.awaitsReturn && hasAlarm ? now : instant
        note(byHop ? 12 : 13, timer.number, instant, now, by: thread)
        timer.finish(decidedAt: instant, now: now)
        timer.moves = 0
        let order = scheduler.putBack(timer.record, decidedAt: instant, byHop: byHop, now: now)
        if timer.record.hasEnded {
            teardown.timers.append(timer.number)
            releaseServiceIfIdle()
        }
        if plant != .forgetsTheOrderAfterAHop || !byHop { arm(order) }
    }

    /// Ends the delivery of a hop. Returns true if the same hop must deliver another late tick.
    mutating func finish(_ timer: SmallTimer, _ wasDelivered: Bool, decidedAt instant: UInt64, by thread: Int) -> Bool {
        putBack(timer, wasDelivered, decidedAt: instant, byHop: true, by: thread)
        return timer.record.stage == .dispatched
    }
}

/// A mailbox between the threads that put hops into it and the task that takes them. It mirrors `TickMailbox`: each
/// move is one hold of the mailbox's own lock, or one step without it.
struct SmallMailbox: Hashable {
    var hop: Int?
    var hasEnded = false
    /// Whether the task waits to be resumed.
    var isAwaited = false

    /// Takes the task that must be resumed.
    mutating func takeWaiting() -> Bool {
        defer { isAwaited = false }
        return isAwaited
    }
}

extension SmallWorld {
    func useMailbox(_ move: Move, by thread: Int) {
        switch move {
        // `receive(_:)`
        case .put(let number):
            mailbox.hop = number
            if plan.plant != .keepsAHopAfterTheEnd { threads[thread].append(.checkForEnd(number)) }
            if mailbox.takeWaiting() { threads[thread].append(.resume) }
        case .checkForEnd(let number): if mailbox.hasEnded { threads[thread].append(.letGo(number)) }
        // `end(_:)`
        case .endMailbox(let number):
            mailbox.hasEnded = true
            threads[thread].append(.letGo(number))
            if mailbox.takeWaiting() { threads[thread].append(.resume) }
        case .letGo: if let number = mailbox.hop.take() { threads[thread].append(.arrive(number)) }
        case .resume: if case .waitForNews(let number) = threads[1].popLast() { threads[1].append(.next(number)) }
        // `next()`
        case .next(let number):
            if let hop = mailbox.hop.take() {
                threads[thread] += [.next(number), .arrive(hop)]
            } else if !mailbox.hasEnded {
                threads[thread].append(.news(number))
            }
        // `news()`
        case .news(let number):
            if mailbox.hop != nil || mailbox.hasEnded, plan.plant != .waitsWithoutACheck {
                threads[thread].append(.next(number))
            } else {
                mailbox.isAwaited = true
                threads[thread].append(.waitForNews(number))
            }
        default: break
        }
    }
}

/// An alarm that does what its contract says.
struct SmallAlarm: Hashable {
    var deadline: UInt64?
    var period: UInt64?
    var canRepeat = false
    var isStopped = false
    /// Whether it refuses to be set.
    var isBroken = false

    mutating func set(_ deadline: UInt64?) { if !isStopped { (self.deadline, period) = (deadline, nil) } }

    /// A firing, which uses the deadline up, or moves it if the alarm repeats.
    mutating func fire(at now: UInt64) {
        guard let period, var next = deadline else {
            deadline = nil
            return
        }
        while next <= now { next += period }
        deadline = next
    }
}
