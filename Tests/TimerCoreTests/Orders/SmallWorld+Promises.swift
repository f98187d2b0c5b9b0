import PreciseTimer
import TimerKernel

/// What must hold after each step, and at the end of an order.
extension SmallWorld {
    func check() { fault = fault ?? brokenPromise }

    private var brokenPromise: String? {
        if let broken = engine.scheduler.brokenInvariant { return broken }
        for timer in timers where timer.isAdded && !timer.hasEnded && timer.nextDeadline != timer.due ?? .max {
            return "the next deadline of timer \(timer.name) is \(timer.nextDeadline)"
        }
        guard engine.hasAlarm, engine.scheduler.look == nil, !isAboutToLook, !owesAnOrder else { return nil }
        let waiting = timers.filter { $0.isAdded && !$0.hasEnded && !$0.isClosed && !$0.isPaused && !$0.isInDelivery }
        guard let next = waiting.map(\.nextLook).min(), next != .max else { return nil }
        guard let alarm = engine.alarms[engine.run].deadline else { return "the alarm for \(next) was lost" }
        return alarm <= next ? nil : "the alarm for \(next) is set to \(alarm)"
    }

    private var isAboutToLook: Bool { threads.contains { $0.contains(.look(run: engine.run)) } }

    private var owesAnOrder: Bool {
        threads.contains {
            switch $0.last {
            case .carryOut, .fail: true
            default: false
            }
        }
    }

    /// Everything that later steps depend on, and the promises about them.
    ///
    /// The scheduler's own state cannot be read. It follows from its calls, so they are enough, but this tells too many
    /// worlds apart. It follows as well from the timers' numbers, which ``check()`` compares with the scheduler's, from
    /// their order, from the alarm, and from the calls that have moved a timer inside a queue.
    var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(engine.now)
        hasher.combine(engine.run)
        hasher.combine(engine.phase)
        hasher.combine(engine.endOfStart)
        hasher.combine(engine.holdsService)
        hasher.combine(engine.alarms)
        hasher.combine(threads)
        hasher.combine(queue)
        hasher.combine(callsLeft)
        hasher.combine(earlyLeft)
        hasher.combine(refusalsLeft)
        hasher.combine(mailbox)
        hasher.combine(starting)
        for timer in timers { timer.combine(into: &hasher) }
        if plan.mergesByCalls {
            hasher.combine(engine.history.calls)
        } else {
            combineScheduler(into: &hasher)
        }
        return hasher.finalize()
    }

    private func combineScheduler(into hasher: inout Hasher) {
        hasher.combine(timers.count > 1 && timers[0].order < timers[1].order)
        hasher.combine(engine.scheduler.count)
        if engine.scheduler.count > 0 { hasher.combine(engine.scheduler[0] === timers[0].record) }
        hasher.combine(engine.scheduler.look)
        hasher.combine(engine.hasNews)
        hasher.combine(engine.isFirstTurn)
        hasher.combine(engine.scheduler.overdue(at: .max - 1))
        hasher.combine(engine.scheduler.nextLook)
        // A repeating alarm goes on during a look.
        if plan.alarmRepeats, engine.scheduler.look != nil { hasher.combine(engine.callsAtLook) }
    }

    func end() {
        fault = fault ?? brokenEnd
        if fault != nil { return }
        endAll()
        for timer in timers where timer.isAdded && (!timer.hasEnded || timer.farewells != 1) {
            fault = "timer \(timer.name) has \(timer.farewells) farewells"
        }
        if engine.scheduler.count + engine.scheduler.runningCount > 0 { fault = "a timer is kept after its end" }
        if engine.holdsService { fault = "the service is held without a timer" }
        let references = timers.map { Reference(record: $0.record) }
        timers = []
        if references.contains(where: { $0.record != nil }) { fault = fault ?? "a timer is not released" }
    }

    private struct Reference {
        weak var record: TimerRecord<Backlink>?
    }

    private var brokenEnd: String? {
        if let thread = threads.firstIndex(where: { !$0.isEmpty && !isWaitingForNews($0) }) {
            return "\(name(of: thread)) waits for ever"
        }
        if threads[1].last != nil, mailbox != SmallMailbox(isAwaited: true) { return "the task sleeps beside news" }
        guard engine.hasAlarm else { return nil }
        return timers.first { $0.isOwedTick(at: engine.now) }.map { "timer \($0.name) lacks a tick" }
    }

    /// A shutdown after the last step, on its own.
    private func endAll() {
        close(run: nil, .serviceShutDown, by: 2)
        while let thread = threads.indices.first(where: isReady) { take(.goesOn(thread)) }
        if !threads.allSatisfy(\.isEmpty) { fault = fault ?? "a thread does not end" }
        if mailbox.hop != nil { fault = fault ?? "a hop stays in the mailbox" }
    }

    private func isWaitingForNews(_ moves: [Move]) -> Bool { if case .waitForNews = moves.last { true } else { false } }

    // MARK: In words

    func text(of step: WorldStep) -> String {
        switch step {
        case .timePasses: "time passes: \(engine.now + 1)"
        case .alarmBreaks(let run): "the alarm of run \(run) begins to refuse"
        case .alarmFires(let run): "the alarm of run \(run) fires"
        case .alarmFiresEarly(let run): "the alarm of run \(run) fires early"
        case .calls(let thread, let call): "\(name(of: thread)) calls \(call.kind) of \(timers[call.timer].name)"
        case .goesOn(let thread): "\(name(of: thread)) goes on: \(text(of: threads[thread].last))"
        }
    }

    private func name(of thread: Int) -> String {
        switch thread {
        case 0: "the alarm's thread"
        case 1: timers.contains(where: \.plan.isConsumed) ? "the task" : "the queue"
        case 2, 3: "caller \(thread - 1)"
        default: "the thread of alarm \(thread - 2)"
        }
    }

    private func text(of move: Move?) -> String {
        switch move {
        case nil: "a hop of \(timers[queue[0]].name) arrives"
        case .look: "begins a look"
        case .turn: "asks for the next due timer"
        case .send(let number, _): "sends a hop of \(timers[number].name)"
        case .arrive(let number): "a hop of \(timers[number].name) arrives"
        case .begin(let number, _): "decides on the tick of \(timers[number].name)"
        case .call(let number, _, _, _): "calls the handler of \(timers[number].name)"
        case .handler(let number, _, _, _): "the handler of \(timers[number].name) returns"
        case .finish(let number, _, _, _, _): "ends the delivery of \(timers[number].name)"
        case .bid(let number): "says the farewell of \(timers[number].name)"
        case .awaitReturn(let number), .wait(let number): "asks to wait for the handler of \(timers[number].name)"
        case .waited(let number): "has waited for the handler of \(timers[number].name)"
        case .fail: "begins to end all timers, because the alarm has refused"
        case .put(let number): "puts a hop of \(timers[number].name) into the mailbox"
        case .lookForEnd: "looks whether the mailbox has ended"
        case .letGo: "takes a hop from the mailbox that has ended"
        case .endMailbox: "ends the mailbox"
        case .resume: "resumes the task"
        case .next: "looks into the mailbox"
        case .news, .waitForNews: "looks into the mailbox again, and waits"
        case .stopAlarm: "stops the alarm"
        case .endClosing: "ends a timer that the shutdown has left"
        case .beginStart: "begins to start the service"
        case .finishStart: "has started the alarm"
        case .admit(let number): "adds \(timers[number].name)"
        case .carryOut(let order): "carries out the order \(order.order)"
        }
    }
}
