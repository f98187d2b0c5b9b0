import PreciseTimer

/// What the threads do, one move at a time: with the lock or without it, never both.
extension SmallWorld {
    func perform(_ move: Move, by thread: Int) {
        switch move {
        case .look, .turn, .send, .arrive, .begin: deliver(move, by: thread)
        case .call(let number, let run, let look, let byHop):
            let timer = timers[number]
            if timer.targetIsGone {
                finish(number, run, look, wasServed: false, byHop: byHop, by: thread)
            } else {
                fault = fault ?? timer.enterHandler(on: thread)
                threads[thread].append(.handler(number, run: run, look: look, byHop: byHop))
            }
        case .handler(let number, let run, let look, let byHop):
            timers[number].leaveHandler()
            threads[thread].append(.finish(number, run: run, look: look, wasServed: true, byHop: byHop))
        case .finish(let number, let run, let look, let wasServed, let byHop):
            finish(number, run, look, wasServed: wasServed, byHop: byHop, by: thread)
        case .bid(let number): bid(number, by: thread)
        case .wait: break
        case .waited(let number): waited(number, by: thread)
        case .stopAlarm(let run): engine.alarms[run].isStopped = true
        case .fail(let run): close(run: run, .backendFailed, by: thread)
        case .endClosing(let ending):
            let (timer, mustSayFarewell) = engine.endClosing(ending, by: thread)
            guard let timer else { return }
            threads[thread].append(.endClosing(ending))
            if mustSayFarewell { threads[thread].append(.bid(timer.number)) }
        case .beginStart, .finishStart, .admit: start(move, by: thread)
        case .put, .lookForEnd, .letGo, .endMailbox, .resume, .next, .news, .waitForNews: useMailbox(move, by: thread)
        case .carryOut(let order): engine.carryOut(order)
        case .awaitReturn(let number): awaitReturn(number, by: thread)
        }
    }

    // MARK: Delivery

    private func deliver(_ move: Move, by thread: Int) {
        switch move {
        case .look(let run):
            if let woke = engine.beginLook(run, by: thread) { threads[thread].append(.turn(run: run, woke: woke)) }
        case .turn(let run, let woke): takeTurn(run, woke, by: thread)
        case .send(let number, _):
            let plan = timers[number].plan
            if plan.isConsumed { return threads[thread].append(.put(number)) }
            if plan.hops { queue.append(number) } else { perform(.arrive(number), by: thread) }
        case .arrive(let number): threads[thread].append(.begin(number, look: engine.now))
        case .begin(let number, let look):
            if engine.begin(timers[number], lookedAt: look, by: thread, &fault) != nil {
                // A task takes the tick from its mailbox: there is no handler.
                let isConsumed = timers[number].plan.isConsumed
                let finish = Move.finish(number, run: 0, look: look, wasServed: true, byHop: true)
                threads[thread].append(isConsumed ? finish : .call(number, run: 0, look: look, byHop: true))
            }
        default: break
        }
    }

    private func takeTurn(_ run: Int, _ woke: UInt64, by thread: Int) {
        switch engine.step(run, lookedAt: woke, by: thread, &fault) {
        case .call(let number, _): threads[thread].append(.call(number, run: run, look: woke, byHop: false))
        case .send(let number):
            threads[thread] += [.turn(run: run, woke: woke), .send(number, woke: woke)]
        case .done: break
        }
    }

    private func finish(
        _ number: Int,
        _ run: Int,
        _ look: UInt64,
        wasServed: Bool,
        byHop: Bool,
        by thread: Int
    ) {
        let outcome = engine.putBack(
            timers[number],
            lookedAt: look,
            wasServed: wasServed,
            byHop: byHop,
            by: thread
        )
        if !byHop, outcome != .ended { return takeTurn(run, look, by: thread) }
        if !byHop { threads[thread].append(.turn(run: run, woke: look)) }
        switch outcome {
        case .waits: break
        case .again: threads[thread].append(timers[number].plan.isConsumed ? .put(number) : .begin(number, look: look))
        case .ended: threads[thread].append(.bid(number))
        }
    }

    // MARK: Ends and starts

    private func bid(_ number: Int, by thread: Int) {
        fault = fault ?? timers[number].bid()
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
        if timer.endedBy == thread, timer.farewells == 0 {
            fault = fault ?? "a wait for timer \(timer.name), which it has ended, returns before the farewell"
        }
    }

    private func start(_ move: Move, by thread: Int) {
        switch move {
        case .admit(let number):
            if engine.phase != .ended, !engine.admit(timers[number], by: thread) {
                threads[thread] += [.admit(number), .beginStart(number)]
            }
        case .beginStart(let number):
            if engine.beginStart() {
                starting = thread
                threads[thread].append(.finishStart(number))
            }
        case .finishStart:
            starting = nil
            // The error of the run's end goes to the caller, who gives up.
            if !engine.finishStart() { threads[thread].removeLast() }
        default: break
        }
    }
}
