import PreciseTimer

/// What must hold after each step, and at the end of an order.
extension SmallWorld {
    func check() { fault = fault ?? brokenPromise }

    private var brokenPromise: String? {
        if let broken = engine.scheduler.brokenInvariant { return broken }
        for timer in timers where timer.isAdded && !timer.hasEnded && timer.nextDeadline != timer.due ?? .max {
            return "the next deadline of timer \(timer.name) is \(timer.nextDeadline)"
        }
        guard engine.hasAlarm, engine.scheduler.round == nil, !isAboutToBeginARound, !owesAnOrder else { return nil }
        let waiting = timers.filter { $0.isAdded && !$0.hasEnded && !$0.isClosed && !$0.isPaused && !$0.isInDelivery }
        guard let next = waiting.map(\.wakeTime).min(), next != .max else { return nil }
        guard let alarm = engine.alarms[engine.epoch].deadline else { return "the alarm for \(next) was lost" }
        return alarm <= next ? nil : "the alarm for \(next) is set to \(alarm)"
    }

    private var isAboutToBeginARound: Bool { threads.contains { $0.contains(.round(epoch: engine.epoch)) } }

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
        hasher.combine(engine.epoch)
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
        hasher.combine(engine.scheduler.round)
        hasher.combine(engine.hasNews)
        hasher.combine(engine.isFirstStep)
        hasher.combine(engine.scheduler.overdue(at: .max - 1))
        hasher.combine(engine.scheduler.nextWakeTime)
        // A repeating alarm goes on during a round.
        if plan.alarmRepeats, engine.scheduler.round != nil { hasher.combine(engine.callsAtRound) }
    }

    func end() {
        fault = fault ?? brokenEnd
        if fault != nil { return }
        endAll()
        for timer in timers where timer.isAdded && (!timer.hasEnded || timer.finals != 1) {
            fault = "timer \(timer.name) is finalized \(timer.finals) times"
        }
        if engine.scheduler.count + engine.scheduler.runningCount > 0 { fault = "a timer is kept after its end" }
        if engine.holdsService { fault = "the service is held without a timer" }
        let references = timers.map { Reference(record: $0.record) }
        timers = []
        if references.contains(where: { $0.record != nil }) { fault = fault ?? "a timer is not released" }
    }

    private struct Reference {
        weak var record: TimerRecord?
    }

    private var brokenEnd: String? {
        if let thread = threads.firstIndex(where: { !$0.isEmpty && !isWaitingForNews($0) }) {
            return "\(name(of: thread)) waits for ever"
        }
        if threads[1].last != nil, mailbox != SmallMailbox(isAwaited: true) { return "the task sleeps beside news" }
        guard engine.hasAlarm else { return nil }
        return timers.first { $0.lacksTick(at: engine.now) }.map { "timer \($0.name) lacks a tick" }
    }

    /// A shutdown after the last step, on its own.
    private func endAll() {
        close(epoch: nil, .serviceShutDown, by: 2)
        performTeardown(by: 2)
        while let thread = threads.indices.first(where: isReady) { take(.goesOn(thread)) }
        if !threads.allSatisfy(\.isEmpty) { fault = fault ?? "a thread does not end" }
        if mailbox.hop != nil { fault = fault ?? "a hop stays in the mailbox" }
    }

    private func isWaitingForNews(_ moves: [Move]) -> Bool { if case .waitForNews = moves.last { true } else { false } }

    // MARK: In words

    func text(of step: WorldStep) -> String {
        switch step {
        case .timePasses: "time passes: \(engine.now + 1)"
        case .alarmBreaks(let epoch): "the alarm of epoch \(epoch) begins to refuse"
        case .alarmFires(let epoch): "the alarm of epoch \(epoch) fires"
        case .alarmFiresEarly(let epoch): "the alarm of epoch \(epoch) fires early"
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
        case .round: "begins a round"
        case .step: "asks for the next due timer"
        case .send(let number, _): "sends a hop of \(timers[number].name)"
        case .arrive(let number): "a hop of \(timers[number].name) arrives"
        case .begin(let number, _): "decides on the tick of \(timers[number].name)"
        case .call(let number, _): "calls the handler of \(timers[number].name)"
        case .handler(let number, _): "the handler of \(timers[number].name) returns"
        case .finish(let number, _, _): "ends the delivery of \(timers[number].name)"
        case .finalize(let number): "finalizes \(timers[number].name)"
        case .awaitReturn(let number), .wait(let number): "asks to wait for the handler of \(timers[number].name)"
        case .waited(let number): "has waited for the handler of \(timers[number].name)"
        case .fail: "begins to end all timers, because the alarm has refused"
        case .put(let number): "puts a hop of \(timers[number].name) into the mailbox"
        case .checkForEnd: "checks whether the mailbox has ended"
        case .letGo: "takes a hop from the mailbox that has ended"
        case .endMailbox: "ends the mailbox"
        case .resume: "resumes the task"
        case .next: "looks into the mailbox"
        case .news, .waitForNews: "looks into the mailbox again, and waits"
        case .stopAlarm: "stops the alarm"
        case .endBatch: "ends a timer that the shutdown has left"
        case .beginStart: "begins to start the service"
        case .finishStart: "has started the alarm"
        case .register(let number): "adds \(timers[number].name)"
        case .carryOut(let order): "carries out the order \(order.order)"
        }
    }
}
