internal import Dispatch
internal import TimerAlarms
internal import TimerKernel

// How a timer ends, and how all do. Nothing of the user's is called or released under the lock, so an end has two
// parts: the decision under it, and a teardown for the time after its release.
//
//     one timer     ServiceState.end, under the lock: out of the queue and the list, into the teardown
//                   Record.finalize, without it: the handler is released, `onEnd` called, waiting callers go on
//     all timers    ServiceCore.shutdown calls `endAll`, as does a failure of the alarm
//                   ServiceState.stop: a new epoch without an alarm; no timer ticks from here on
//                   ServiceCore.perform: the alarm's thread stops, or leaves after the handler that it is in
//                   ServiceState.endBatch, one hold of the lock for each batch: `end` for each timer
//
// A timer whose handler is running is finalized by the thread of that handler, after its return (`concludeDelivery`).

/// Ending one timer, and stopping all of them.
extension ServiceState {
    /// Ends a timer, for the reason that a reader has seen, if any. Returns false if it had ended before. If the
    /// handler is running, the timer is finalized after its return, and its task is cancelled unless it is spared.
    @discardableResult
    mutating func end(_ record: Record, _ ending: TimerEnding, sparesTask: Bool = false) -> Bool {
        guard let ended = scheduler.end(record, record.user.isOrphan ? record.endingIfTargetIsGone : ending) else {
            return false
        }
        if !record.isInHandler {
            observer?.ended(record)
            teardown.add(ended: ended.record)
        } else if !sparesTask, let task = record.taskToCancel {
            teardown.needRare().tasks.append(task)
        }
        releaseServiceIfIdle()
        return true
    }

    /// Leaves the service to be released if its last timer has ended.
    mutating func releaseServiceIfIdle() {
        if scheduler.count == 0 { teardown.add(service: serviceWhilePending.take()) }
    }

    /// Stops the alarm: no timer ticks any more. Returns the work to do before each timer is ended. Returns
    /// nil if the service has ended for good, or if `epoch` is given and is not the current one.
    ///
    /// A shared service is idle afterwards, and can be started again.
    mutating func stop(epoch: Int?, answering error: TimerError) -> Teardown? {
        guard epoch == nil || epoch == self.epoch else { return nil }
        let previous = phase
        if case .ended = phase { return nil }
        if case .starting = phase { endOfStart = error }
        phase = restart.map(Phase.idle) ?? .ended(error)
        // A firing that is still going on belongs to no epoch any more.
        self.epoch += 1
        scheduler.close()
        let rare = teardown.needRare()
        (rare.alarm, rare.phase) = (alarm.take(), previous)
        return teardown.take()
    }

    /// Ends a batch of the timers that a stopped alarm has left. Returns false if there is none.
    mutating func endBatch(_ ending: TimerEnding, _ error: TimerError) -> Bool {
        var count = 0
        while count < Scheduler.batch, let record = scheduler.closing?.record {
            count += 1
            if ending == .backendFailed { record.needRare().error = error }
            end(record, ending)
        }
        return count > 0
    }
}

/// The end of a service, with all its timers.
extension ServiceCore {
    /// Ends all timers and the alarm. Returns whether there was a service to end.
    ///
    /// The caller waits for each running handler that it is not inside of and, if this call ends its timer, until the
    /// timer was finalized.
    @discardableResult func shutdown(_ wait: HandlerWait? = nil) -> Bool {
        let error = TimerError(.shutDown, "scheduling on a service that was shut down")
        return endAll(.serviceShutDown, epoch: nil, error, wait)
    }

    /// Ends all timers, because the backend has failed.
    func fail(_ failure: Teardown.Failure) { endAll(.backendFailed, epoch: failure.epoch, failure.error) }

    /// Stops the alarm and, in batches, ends all timers. If `epoch` is given and is not the current one, this does
    /// nothing.
    @discardableResult private func endAll(
        _ ending: TimerEnding,
        epoch: Int?,
        _ error: TimerError,
        _ wait: HandlerWait? = nil
    ) -> Bool {
        let teardown = locked(inForkedChild: nil) { $0.stop(epoch: epoch, answering: error) }
        // No handler begins any more. After the timers have ended, a handler could return unseen, and its thread could
        // still be finalizing its timer.
        if let wait { eachRunningTimer { $0.letWait(wait) } }
        guard let teardown else { return false }
        perform(teardown)
        // A callback may fork, and its child comes here, too.
        while decide(inForkedChild: false, { $0.endBatch(ending, error) }) {}
        return true
    }

    /// Calls a function with each timer whose handler is running, also with those that have ended, under the lock. Asks
    /// in batches, so that other threads get the lock in between.
    func eachRunningTimer(_ body: (Record) -> Void) {
        var position = Int.max
        while position > 0 {
            position = locked(inForkedChild: 0) { state in
                let end = min(position, state.scheduler.runningCount)
                let begin = max(0, end - Scheduler.batch)
                for position in begin..<end { body(state.scheduler.running(at: position).record) }
                return begin
            }
        }
    }
}

/// The work that a decision leaves for the time without the lock: it calls or releases user objects, or takes long.
/// A decision fills it under the lock, and ``ServiceCore/perform(_:)`` does it all afterwards, once.
struct Teardown: ~Copyable {
    /// Fields that most teardowns never use, allocated when one of them is needed.
    final class Rare {
        /// The alarm of a service that ends, and the previous phase, which may hold an alarm, too.
        var alarm: (any TimerAlarm)?
        var phase: ServiceState.Phase?
        /// The tasks of running handlers, which must be cancelled.
        var tasks: [TaskDestination] = []
        /// Further timers that have ended.
        var timers: [Record] = []
        /// What may be the last reference to an object of the user.
        var released: [AnyObject] = []
        /// The failure of the backend, which ends all timers.
        var failure: Failure?
    }

    /// The failure of a backend.
    struct Failure {
        let error: TimerError
        /// The epoch of the service that failed.
        let epoch: Int
    }

    /// Whether nothing is left to be done.
    private(set) var isEmpty = true
    /// A timer that has ended, and whose handler is not running: it must be finalized.
    private(set) var timer: Record?
    /// The service, if its last timer has ended. It is released when all else is done.
    private(set) var service: AnyObject?
    private(set) var rare: Rare?

    /// Leaves a timer that has ended to be finalized.
    @inline(__always) mutating func add(ended record: consuming Record) {
        if timer == nil { timer = record } else { needRare().timers.append(record) }
        isEmpty = false
    }

    /// Leaves the service to be released, if there is one.
    mutating func add(service: consuming AnyObject?) {
        guard let service else { return }
        self.service = service
        isEmpty = false
    }

    /// What few teardowns have, made if necessary.
    mutating func needRare() -> Rare {
        if let rare { return rare }
        let new = Rare()
        (rare, isEmpty) = (new, false)
        return new
    }

    /// Returns the work that is left, and leaves none.
    mutating func take() -> Teardown {
        let taken = consume self
        self = Teardown()
        return taken
    }
}

extension ServiceCore {
    /// Does what a decision has left. Called without the lock.
    func perform(_ teardown: borrowing Teardown) {
        if let rare = teardown.rare { stopAlarmAndCancelTasks(rare) }
        teardown.timer?.finalize()
        if let rare = teardown.rare { finalizeTheRest(rare) }
    }

    // Not inlined: nearly all teardowns have one timer at most.
    @inline(never) private func stopAlarmAndCancelTasks(_ rare: Teardown.Rare) {
        rare.released = []
        if rare.phase != nil {
            rare.alarm?.stop()
            setup.release()
        }
        for task in rare.tasks { task.cancel() }
    }

    @inline(never) private func finalizeTheRest(_ rare: Teardown.Rare) {
        // A callback may fork, and return in the child: the other timers are the parent's.
        for record in rare.timers where !lock.isOfAnotherProcess { record.finalize() }
        if let failure = rare.failure { fail(failure) }
    }
}

/// One caller's wait until any number of timers are over.
///
/// A timer counts from ``expectEnd()`` until ``timerIsOver()``. The caller's own wait begins after all of its
/// timers were counted.
final class HandlerWait: Sendable {
    private struct State {
        /// How many timers have a handler that has not returned, or a last tick that has not come.
        var pending = 0
        /// Lets the caller go on, while it waits. Tells whether all timers are over.
        var resume: (@Sendable (Bool) -> Void)?
    }

    private let state = Lock(State())

    /// Counts one more timer.
    func expectEnd() { state.withLock { $0.pending += 1 } }

    /// A timer was finalized. Called without a lock.
    func timerIsOver() {
        let resume: (@Sendable (Bool) -> Void)? = state.withLock(inForkedChild: nil) { state in
            state.pending -= 1
            return state.pending == 0 ? state.resume.take() : nil
        }
        resume?(true)
    }

    /// Whether there is a timer to wait for.
    var isNeeded: Bool { state.withLock { $0.pending > 0 } }

    /// Waits for all timers. Blocks the thread.
    func blockUntilOver() {
        let semaphore = DispatchSemaphore(value: 0)
        if begins({ _ in semaphore.signal() }) { semaphore.wait() }
    }

    /// Waits for all timers, up to `limit` of real time; nil for as long as it takes. Returns false on time-out.
    @discardableResult func untilOver(within limit: Duration? = nil) async -> Bool {
        var timeOut: (any DispatchSourceTimer)?
        // A cancelled source is released at once. A block for later would stay until its time.
        defer { timeOut?.cancel() }
        return await withCheckedContinuation { continuation in
            guard begins({ continuation.resume(returning: $0) }) else { return continuation.resume(returning: true) }
            timeOut = limit.map { limit in DispatchSource.timer(after: limit) { [self] in giveUp() } }
        }
    }

    /// Begins the caller's wait. Returns false if there is nothing to wait for.
    private func begins(_ resume: @escaping @Sendable (Bool) -> Void) -> Bool {
        state.withLock { state in
            if state.pending > 0 { state.resume = resume }
            return state.pending > 0
        }
    }

    private func giveUp() { state.withLock { $0.resume.take() }?(false) }
}

extension DispatchSource {
    /// Calls a function once when a real time has passed.
    fileprivate static func timer(
        after time: Duration,
        _ onTime: @escaping @Sendable () -> Void
    ) -> any DispatchSourceTimer {
        let source = makeTimerSource(queue: .global())
        let nanoseconds = Int(clamping: max(.zero, time).nanosecondsOrForever)
        source.schedule(deadline: .now() + .nanoseconds(nanoseconds))
        source.setEventHandler { onTime() }
        source.activate()
        return source
    }
}
