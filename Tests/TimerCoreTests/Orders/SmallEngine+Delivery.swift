import PreciseTimer
import TimerKernel

/// The steps from a firing of the alarm to the handlers. They mirror Delivery.swift.
extension SmallEngine {
    /// Begins a look. Returns nil if an earlier run's alarm has fired.
    mutating func beginLook(_ run: Int, by thread: Int) -> UInt64? {
        guard run == self.run, hasAlarm else { return nil }
        var woke = now
        if let next = scheduler.nextLook, next > woke, next - woke <= lead { woke = next }
        note(8, 0, woke, by: thread)
        scheduler.beginLook(at: woke)
        (hasNews, isFirstTurn, callsAtLook) = (false, true, history.calls)
        return woke
    }

    /// The next step of a look.
    mutating func step(_ run: Int, lookedAt woke: UInt64, by thread: Int, _ fault: inout String?) -> Step {
        guard run == self.run else { return .done }
        note(9, by: thread)
        isFirstTurn = false
        guard let record = scheduler.firstDue(), let timer = record.user.timer else {
            let order = scheduler.endLook()
            if plant != .forgetsTimersAddedDuringALook || !hasNews { arm(order) }
            return .done
        }
        if timer.plan.hops || timer.plan.isConsumed {
            scheduler.send(record)
            return .send(timer.number)
        }
        note(10, timer.number, woke, by: thread)
        guard let due = scheduler.begin(record, at: woke) else {
            scheduler.send(record)
            return .send(timer.number)
        }
        fault = fault ?? timer.expect(due, lookedAt: woke)
        timer.runner = thread
        return .call(timer.number, due)
    }

    /// Decides the tick of a hop that has arrived; nil if the timer must not tick.
    mutating func begin(_ timer: SmallTimer, lookedAt look: UInt64, by thread: Int, _ fault: inout String?) -> Due? {
        note(10, timer.number, look, by: thread)
        if let due = scheduler.begin(timer.record, at: look) {
            fault = fault ?? timer.expect(due, lookedAt: look)
            timer.runner = thread
            return due
        }
        note(11, timer.number, look, look, by: thread)
        timer.finish(lookedAt: look, now: look)
        timer.moves = 0
        arm(scheduler.putBack(timer.record, lookedAt: look, now: look))
        return nil
    }

    /// Ends a delivery. Nothing was served if the target was released.
    mutating func putBack(
        _ timer: SmallTimer,
        lookedAt look: UInt64,
        wasServed: Bool,
        byHop: Bool,
        by thread: Int
    ) -> Outcome {
        timer.runner = nil
        if !wasServed { _ = end(timer, .targetReleased, by: thread) }
        let now = timer.record.awaitsReturn && hasAlarm ? now : look
        note(byHop ? 12 : 13, timer.number, look, now, by: thread)
        timer.finish(lookedAt: look, now: now)
        timer.moves = 0
        let order = scheduler.putBack(timer.record, lookedAt: look, byHop: byHop, now: now)
        if plant != .forgetsTheOrderAfterAHop || !byHop { arm(order) }
        if timer.record.hasEnded {
            takeServiceIfIdle()
            return .ended
        }
        return timer.record.isInDelivery ? .again : .waits
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
            if plan.plant != .keepsAHopAfterTheEnd { threads[thread].append(.lookForEnd(number)) }
            if mailbox.takeWaiting() { threads[thread].append(.resume) }
        case .lookForEnd(let number): if mailbox.hasEnded { threads[thread].append(.letGo(number)) }
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
            if mailbox.hop != nil || mailbox.hasEnded, plan.plant != .waitsWithoutALook {
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
