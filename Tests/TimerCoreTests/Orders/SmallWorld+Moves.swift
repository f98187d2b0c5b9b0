import PreciseTimer

/// What the threads do, one move at a time: with the lock or without it, never both.
extension SmallWorld {
    func perform(_ move: Move, by thread: Int) {
        switch move {
        case .round, .step, .send, .arrive, .begin: deliver(move, by: thread)
        case .call(let number, let delivery):
            let timer = timers[number]
            if timer.targetIsGone {
                finish(number, delivery, wasDelivered: false, by: thread)
            } else {
                fault = fault ?? timer.enterHandler(on: thread)
                threads[thread].append(.handler(number, delivery))
            }
        case .handler(let number, let delivery):
            timers[number].leaveHandler()
            threads[thread].append(.finish(number, delivery, wasDelivered: true))
        case .finish(let number, let delivery, let wasDelivered):
            finish(number, delivery, wasDelivered: wasDelivered, by: thread)
        case .stopAlarm(let epoch): engine.alarms[epoch].isStopped = true
        case .finalize(let number): finalize(number, by: thread)
        case .fail(let epoch): close(epoch: epoch, .backendFailed, by: thread)
        case .wait: break
        case .waited(let number): waited(number, by: thread)
        case .endBatch(let ending): if engine.endBatch(ending, by: thread) { threads[thread].append(.endBatch(ending)) }
        case .beginStart, .finishStart, .register: start(move, by: thread)
        case .put, .checkForEnd, .letGo, .endMailbox, .resume, .next, .news, .waitForNews: useMailbox(move, by: thread)
        case .carryOut(let order): engine.carryOut(order)
        case .awaitReturn(let number): awaitReturn(number, by: thread)
        }
    }

    // MARK: Delivery

    private func deliver(_ move: Move, by thread: Int) {
        switch move {
        case .round(let epoch):
            if let woke = engine.beginRound(epoch, by: thread) {
                threads[thread].append(.step(epoch: epoch, woke: woke))
            }
        case .step(let epoch, let woke): takeStep(epoch, woke, after: nil, by: thread)
        case .send(let number, _):
            let plan = timers[number].plan
            if plan.isConsumed { return threads[thread].append(.put(number)) }
            if plan.hops { queue.append(number) } else { perform(.arrive(number), by: thread) }
        case .arrive(let number): threads[thread].append(.begin(number, at: engine.now))
        case .begin(let number, let instant):
            if engine.begin(timers[number], at: instant, by: thread, &fault) != nil {
                let delivery = Delivery(instant: instant)
                // A task takes the tick from its mailbox: there is no handler.
                let isConsumed = timers[number].plan.isConsumed
                threads[thread]
                    .append(
                        isConsumed ? .finish(number, delivery, wasDelivered: true) : .call(number, delivery)
                    )
            }
        default: break
        }
    }

    private func takeStep(
        _ epoch: Int,
        _ woke: UInt64,
        after called: (timer: SmallTimer, wasDelivered: Bool)?,
        by thread: Int
    ) {
        switch engine.step(epoch, at: woke, after: called, by: thread, &fault) {
        case .call(let number, _): threads[thread].append(.call(number, Delivery(instant: woke, epoch: epoch)))
        case .send(let number):
            threads[thread] += [.step(epoch: epoch, woke: woke), .send(number, woke: woke)]
        case .again: threads[thread].append(.step(epoch: epoch, woke: woke))
        case .sleep: break
        }
    }

    private func finish(_ number: Int, _ delivery: Delivery, wasDelivered: Bool, by thread: Int) {
        let (timer, instant) = (timers[number], delivery.instant)
        if let epoch = delivery.epoch {
            takeStep(epoch, instant, after: (timer, wasDelivered), by: thread)
        } else if engine.finish(timer, wasDelivered, decidedAt: instant, by: thread) {
            threads[thread].append(timer.plan.isConsumed ? .put(number) : .begin(number, at: instant))
        }
    }

    // MARK: Ends and starts

    /// What the engine's last decision has left comes next, in the order of `ServiceCore.perform`.
    func performTeardown(by thread: Int) {
        if let order = engine.owed.take() { threads[thread].append(.carryOut(order)) }
        let teardown = engine.teardown.take()
        if let epoch = teardown.failure { threads[thread].append(.fail(epoch: epoch)) }
        threads[thread] += teardown.timers.reversed().map(Move.finalize)
        if let epoch = teardown.alarm { threads[thread].append(.stopAlarm(epoch)) }
    }

    private func finalize(_ number: Int, by thread: Int) {
        fault = fault ?? timers[number].finalize()
        if timers[number].plan.isConsumed { threads[thread].append(.endMailbox(number)) }
        for thread in timers[number].waiting {
            threads[thread].removeLast()
            threads[thread].append(.waited(number))
        }
        timers[number].waiting = []
    }

    func awaitReturn(_ number: Int, by thread: Int) {
        let timer = timers[number]
        // From inside the handler it returns at once.
        if timer.runner == thread { return }
        if timer.runner != nil { timer.waiting.append(thread) }
        threads[thread].append(timer.runner == nil ? .waited(number) : .wait(number))
    }

    private func waited(_ number: Int, by thread: Int) {
        let timer = timers[number]
        timer.isOver = true
        if timer.isInHandler { fault = fault ?? "a wait for the handler of \(timer.name) ends while it runs" }
        if timer.endedBy == thread, timer.finals == 0 {
            fault = fault ?? "a wait for timer \(timer.name), which it has ended, returns before it is finalized"
        }
    }

    private func start(_ move: Move, by thread: Int) {
        switch move {
        case .register(let number):
            if engine.phase != .ended, !engine.register(timers[number], by: thread) {
                threads[thread] += [.register(number), .beginStart(number)]
            }
        case .beginStart(let number):
            starting = engine.beginStart() ? thread : nil
            if starting != nil { threads[thread].append(.finishStart(number)) }
        case .finishStart(let number):
            let isRunning = engine.finishStart()
            if isRunning || !plan.isShared { starting = nil }
            if isRunning { return }
            // A service that can start again is started anew. If not, the error of its end goes to the caller, who
            // gives up.
            if plan.isShared { threads[thread].append(.beginStart(number)) } else { threads[thread].removeLast() }
        default: break
        }
    }
}
