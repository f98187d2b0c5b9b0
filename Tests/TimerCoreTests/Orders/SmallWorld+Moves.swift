// What the threads of a small world do, one hold of the lock at a time. The decisions are the engine's. What lies
// between two holds is mirrored from the methods that are named here, because a thread must be able to stop there.
import TimerAlarms
import TimerKernel

@testable import PreciseTimer

/// The delivery of a tick that was decided on as of an instant.
struct Delivery: Hashable {
    let tick: Expiration
    let instant: UInt64
    /// The epoch of the round that calls the handler itself; nil for a hop.
    var epoch: Int?
}

/// What a thread does next, in one step. Numbers are timers'.
enum Move: Hashable {
    // The alarm's thread: `ServiceCore.fired`.
    case beginRound(epoch: Int)
    case step(epoch: Int, woke: UInt64, isFirst: Bool)
    case send(Int, woke: UInt64)
    // A hop: `Hop.deliver`.
    case arrive(Int)
    case begin(Int, at: UInt64)
    // Both.
    case call(Int, Delivery)
    case handler(Int, Delivery)
    case finish(Int, Delivery, wasDelivered: Bool)
    // What a decision has left: `ServiceCore.perform`.
    case stopAlarm(epoch: Int)
    case finalize(Int)
    case fail(epoch: Int)
    // Calls: `ServiceCore.end`, `close`, `register`, `startAlarm`.
    case waited(Int)
    case endBatch(TimerEnding)
    case beginStart, finishStart
    case register(Int)
    // A mailbox and the task that waits for it: `TickMailbox`.
    case put, checkForEnd, letGo, endMailbox, resume, next, news, waitForNews

    /// Whether it takes the service's lock.
    var isDecision: Bool {
        switch self {
        case .beginRound, .step, .begin, .finish, .fail, .endBatch, .beginStart, .finishStart, .register:
            true
        default: false
        }
    }
}

/// A mailbox between the threads that put hops into it and the task that takes them.
struct SmallMailbox: Hashable {
    var hasHop = false
    var hasEnded = false
    /// Whether the task waits to be resumed.
    var isAwaited = false
}

extension SmallWorld {
    /// How the engine knows the threads.
    private static let identities = (0..<16).map { _ in TaskDelivery() }

    func perform(_ move: Move, by thread: Int) {
        let runner = Runner.task(Self.identities[thread])
        switch move {
        case .beginRound(let epoch):
            guard let (_, woke) = state.beginRound(epoch) else { return }
            threads[thread].append(.step(epoch: epoch, woke: woke.nanoseconds, isFirst: true))
        case .step(let epoch, let woke, _): step(epoch, woke, after: .again, nil, by: thread)
        case .send(let number, _):
            switch timers[number].plan.way {
            case .inline: threads[thread].append(.begin(number, at: now))
            case .queue: queue.append(number)
            case .task: threads[thread].append(.put)
            }
        case .arrive(let number): threads[thread].append(.begin(number, at: now))
        case .begin(let number, let instant):
            let timer = timers[number]
            if let tick = state.begin(timer.record, at: TimerInstant(nanoseconds: instant), by: runner) {
                breaks(timer.expect(tick, decidedAt: instant))
                let delivery = Delivery(tick: tick, instant: instant)
                // A task takes the tick from its mailbox: there is no handler.
                let isTaken = timer.plan.way == .task
                threads[thread]
                    .append(isTaken ? .finish(number, delivery, wasDelivered: true) : .call(number, delivery))
            } else {
                timer.finish(decidedAt: instant, now: instant)
            }
        case .call(let number, let delivery):
            if timers[number].record.user.target == nil {
                finish(timers[number], delivery, wasDelivered: false, by: thread)
            } else {
                breaks(timers[number].enterHandler(on: thread))
                threads[thread].append(.handler(number, delivery))
            }
        case .handler(let number, let delivery):
            timers[number].leaveHandler()
            threads[thread].append(.finish(number, delivery, wasDelivered: true))
        case .finish(let number, let delivery, let wasDelivered):
            finish(timers[number], delivery, wasDelivered: wasDelivered, by: thread)
        case .stopAlarm(let epoch): alarms.first { $0.epoch == epoch }?.stop()
        case .finalize(let number):
            breaks(timers[number].finalize())
            if timers[number].plan.way == .task { threads[thread].append(.endMailbox) }
        case .fail(let epoch): close(epoch: epoch, .backendFailed, by: thread)
        case .endBatch(let ending):
            // A batch of the engine is larger; here, others come in between.
            guard let record = state.scheduler.closing?.record else { return }
            end(record, ending, by: thread)
            threads[thread].append(.endBatch(ending))
        case .beginStart:
            starting = (try? state.beginStart()).map { _ in [thread, state.epoch] }
            if starting != nil { threads[thread].append(.finishStart) }
        case .finishStart:
            let alarm = SmallAlarm(self, starting?.last ?? 0)
            guard (try? state.finishStart(alarm)) == true else { return threads[thread].append(.beginStart) }
            starting = nil
            alarms.append(alarm)
            while threads.count <= self.thread(of: alarm.epoch) { threads.append([]) }
        case .register(let number): register(timers[number], by: thread)
        case .waited(let number): breaks(timers[number].waited(on: thread))
        default: useMailbox(move, by: thread)
        }
    }

    // MARK: Delivery

    private func step(
        _ epoch: Int,
        _ woke: UInt64,
        after last: borrowing Step,
        _ delivered: DeliveredTick?,
        by thread: Int
    ) {
        let (instant, runner) = (TimerInstant(nanoseconds: woke), Runner.task(Self.identities[thread]))
        let next = Move.step(epoch: epoch, woke: woke, isFirst: false)
        switch state.step(epoch, at: instant, after: last, delivered, by: runner) {
        case .call(let record, let tick):
            let timer = timer(of: record)
            breaks(timer.expect(tick, decidedAt: woke))
            threads[thread].append(.call(timer.number, Delivery(tick: tick, instant: woke, epoch: epoch)))
        case .send(let record): threads[thread] += [next, .send(timer(of: record).number, woke: woke)]
        case .again: threads[thread].append(next)
        case .sleep: break
        }
    }

    private func timer(of record: Record) -> SmallTimer {
        for timer in timers where timer.record === record { return timer }
        preconditionFailure("the engine has the world's timers only")
    }

    // Inlined, it would crash the optimizer of Swift 6.3.
    @inline(never)
    private func finish(_ timer: SmallTimer, _ delivery: Delivery, wasDelivered: Bool, by thread: Int) {
        let delivered = wasDelivered ? DeliveredTick(delivery.tick, lateness: 0) : nil
        let (record, instant) = (timer.record, delivery.instant)
        timer.finish(decidedAt: instant, now: state.alarm == nil ? instant : now)
        defer { if !wasDelivered, !record.hasEnded { breaks("timer \(timer.name) goes on without a target") } }
        if let epoch = delivery.epoch {
            return step(epoch, instant, after: .call(record, delivery.tick), delivered, by: thread)
        }
        state.putBack(record, delivered, decidedAt: TimerInstant(nanoseconds: instant), byHop: true)
        if record.stage != .dispatched { return }
        threads[thread].append(timer.plan.way == .task ? .put : .begin(timer.number, at: instant))
    }

    // MARK: Calls

    func begin(_ call: Call, by thread: Int) {
        let (timer, record) = (timers[call.timer], timers[call.timer].record)
        switch call.kind {
        case .schedule: register(timer, by: thread)
        case .cancel, .cancelAndWait:
            end(record, .cancelled, by: thread)
            if call.kind == .cancelAndWait { awaitReturn(record, by: thread) }
        case .pause: if state.scheduler.pause(record) { timer.pause() }
        case .resume: if request({ $0.resume(record, at: $1) }) { timer.resume() }
        case .reschedule, .postpone:
            let first: UInt64 = call.kind == .reschedule ? 1 : 3
            let schedule = timer.plan.schedule(after: first)
            if request({ $0.reschedule(record, schedule, at: $1) }) { timer.schedule(at: now + first) }
        case .fire: if request({ $0.fire(record, at: $1) }) { timer.fire(at: now) }
        case .finish: if request({ $0.finish(record, at: $1) }) { timer.finish(at: now) }
        case .releaseTarget: timer.releaseTarget()
        case .shutDown: close(epoch: nil, .serviceShutDown, by: thread)
        }
    }

    private func request(_ ask: (inout Scheduler, UInt64) -> AlarmOrder?) -> Bool {
        guard let now = state.now, let order = ask(&state.scheduler, now.nanoseconds) else { return false }
        state.arm(order)
        return true
    }

    private func end(_ record: Record, _ ending: TimerEnding, by thread: Int) {
        guard state.end(record, ending) else { return }
        let timer = timer(of: record)
        timer.endedBy = thread
    }

    private func awaitReturn(_ record: Record, by thread: Int) {
        let wait = HandlerWait()
        TaskDelivery.$current.withValue(Self.identities[thread]) { record.letWait(wait) }
        waits[thread] = wait
        threads[thread].append(.waited(timer(of: record).number))
    }

    private func register(_ timer: SmallTimer, by thread: Int) {
        guard state.alarm != nil else {
            threads[thread] += [.register(timer.number), .beginStart]
            return
        }
        final class Service {}
        let service = self.service ?? Service()
        self.service = service
        timer.schedule(at: now + timer.plan.first)
        _ = state.register(timer.record, timer.plan.schedule(after: timer.plan.first), service)
    }

    func close(epoch: Int?, _ ending: TimerEnding, by thread: Int) {
        guard let teardown = state.stop(epoch: epoch, answering: TimerError(.shutDown, "closing")) else { return }
        threads[thread].append(.endBatch(ending))
        for timer in timers where timer.isAdded { timer.isClosed = true }
        leave(teardown, to: thread)
    }

    /// What a decision has left comes next, in the order of `ServiceCore.perform`.
    func leave(_ teardown: borrowing Teardown, to thread: Int) {
        if let failure = teardown.rare?.failure { threads[thread].append(.fail(epoch: failure.epoch)) }
        let others = teardown.rare?.timers.reversed() ?? []
        for record in others + (teardown.timer.map { [$0] } ?? []) {
            threads[thread].append(.finalize(timer(of: record).number))
        }
        if let alarm = teardown.rare?.alarm as? SmallAlarm { threads[thread].append(.stopAlarm(epoch: alarm.epoch)) }
    }

    // MARK: A mailbox

    /// Each move is one hold of the mailbox's own lock, or one step without it.
    private func useMailbox(_ move: Move, by thread: Int) {
        switch move {
        // `receive(_:)`
        case .put:
            mailbox.hasHop = true
            threads[thread].append(.checkForEnd)
            wakeTheTask(by: thread)
        case .checkForEnd: if mailbox.hasEnded { threads[thread].append(.letGo) }
        // `end(_:)`
        case .endMailbox:
            mailbox.hasEnded = true
            threads[thread].append(.letGo)
            wakeTheTask(by: thread)
        case .letGo: if takeHop() { threads[thread].append(.arrive(0)) }
        case .resume: threads[1] = [.next]
        // `next()`
        case .next:
            if takeHop() {
                threads[thread] += [.next, .arrive(0)]
            } else if !mailbox.hasEnded {
                threads[thread].append(.news)
            }
        // `news()`
        case .news:
            let hasNews = mailbox.hasHop || mailbox.hasEnded
            mailbox.isAwaited = !hasNews
            threads[thread].append(mailbox.isAwaited ? .waitForNews : .next)
        default: break
        }
    }

    private func takeHop() -> Bool {
        defer { mailbox.hasHop = false }
        return mailbox.hasHop
    }

    private func wakeTheTask(by thread: Int) {
        if mailbox.isAwaited { threads[thread].append(.resume) }
        mailbox.isAwaited = false
    }
}
