internal import TimerKernel

/// Ending a timer and waiting for its handler.
extension PreciseTimer {
    /// Ends the timer, and waits for a handler that is running. Returns true for the one call that ended it.
    ///
    /// After it returns, no handler of the timer runs or will run. The call that ended the timer returns after the
    /// handler's captures were released and `onEnd` was called; an `onEnd` of the main actor may still be on its way
    /// there. Called from inside the handler, or from the `deinit` of a target that dies with the delivery, it returns
    /// at once. It blocks the calling thread while the handler runs: do not hold a lock that the handler waits for, and
    /// do not let two handlers wait for each other.
    ///
    /// A handler that awaits on an actor can return only there. So this call must not block that actor: a synchronous
    /// method of the main actor must not wait for a handler of the main actor, nor an actor for its own. A debug build
    /// stops there, with a message. A release build returns after the cancel, as from inside the handler. No build sees
    /// what else a handler awaits: if a handler without an actor awaits a method of the caller's actor, neither goes
    /// on. Use the async form.
    @available(*, noasync, message: "call `await timer.cancelAndWait()` in an async function; the top level needs one")
    @discardableResult public func cancelAndWait() -> Bool {
        let wait = HandlerWait()
        let isEnding = core.end(record, .cancelled, wait)
        if wait.isNeeded, core.handlerNeedsCaller(of: record) {
            assertionFailure(
                "\(core.name(of: record)): cancelAndWait() blocks the actor on which the running handler must return; "
                    + "write `await timer.cancelAndWait()`"
            )
        } else {
            wait.blockUntilOver()
        }
        return isEnding
    }

    /// Ends the timer, and waits for a handler that is running. Returns true for the one call that ended it.
    ///
    /// Like the blocking form, but without blocking a thread or an actor. It waits even if the task is cancelled. A
    /// task that the handler created counts as inside while that handler runs, unless it is a detached one: if the
    /// handler waits for a detached task that waits here, neither goes on.
    @discardableResult public func cancelAndWait() async -> Bool {
        let wait = HandlerWait()
        let isEnding = core.end(record, .cancelled, wait)
        await wait.untilOver()
        return isEnding
    }

    /// Ends the timer after one last tick, and waits for that tick's handler: for work that collects between two ticks,
    /// and must not be lost at the end.
    ///
    /// If deadlines have passed already, the last tick is theirs. Otherwise an extra tick comes as soon as possible
    /// (``Tick/isExtra``). The timer then ends with ``EndReason/completed``, also one on demand. It has no last tick if
    /// it is paused, which cancels it, or if it had ended. From this call on it takes no orders, also not from its last
    /// handler: ``reschedule(_:)`` throws, ``fire()`` and ``pause(keeping:)`` return false. Called from inside the
    /// handler, it does not wait.
    ///
    /// - Parameter limit: how long to wait, in real time; nil for as long as it takes, and not at all if it is
    ///   negative. After that the timer is cancelled, and so is the task of its handler.
    /// - Returns: whether the timer ended with a last tick or, inside the handler, whether it will. False if it was
    ///   paused, and if another call or the release of its target ended it before.
    /// - Throws: `TimerError` with the code ``TimerError/Code/handlerRunning`` if its handler has not returned within
    ///   the limit, and with ``TimerError/Code/lastTickPending`` if its last tick was not delivered within the limit.
    @discardableResult public func finish(within limit: Duration? = nil) async throws(TimerError) -> Bool {
        let wait = HandlerWait()
        let hasLastTick = core.finish(record, wait)
        // A paused timer is cancelled; that of a timer that had ended may be in its handler.
        if !hasLastTick { core.end(record, .cancelled, wait) }
        try await wait.untilOver(for: [(core, record)], within: limit)
        // Another call, or the release of the target, may have ended it before its last tick. Inside the handler, that
        // tick will come.
        return hasLastTick && [.scheduled, .ended(.completed)].contains(state)
    }
}

extension TimerBag {
    /// Ends all timers after one last tick each, as ``PreciseTimer/finish(within:)`` does, removes them, and waits for
    /// their handlers. Called from inside a handler, it does not wait for that handler; if the bag had the only handle
    /// of that handler's timer, and no target keeps it, the running tick is its last.
    ///
    /// - Parameter limit: how long to wait for all of them, in real time; nil for as long as it takes.
    /// - Throws: `TimerError` that names the timers whose handler has not returned within the limit or, if no handler
    ///   runs, those whose last tick has not come.
    public func finishAll(within limit: Duration? = nil) async throws(TimerError) {
        try await Self.end(removeAll(), lastTick: true, within: limit)
    }

    /// Cancels all timers, removes all members, and waits for their running handlers. It does not wait for members that
    /// were removed before. From inside a handler it does not wait for that handler.
    public func cancelAllAndWait() async { try? await Self.end(removeAll(), lastTick: false, within: nil) }

    /// Cancels all timers, removes them, and waits up to `limit` of real time for their running handlers.
    ///
    /// - Throws: `TimerError` that names the timers whose handler has not returned within the limit.
    public func cancelAllAndWait(within limit: Duration) async throws(TimerError) {
        try await Self.end(removeAll(), lastTick: false, within: limit)
    }

    /// Ends the members of a bag. May be called again, also while a call waits: the later one waits for the handlers
    /// that are still running.
    package static func end(
        _ members: [any TimerHolder],
        lastTick: Bool,
        within limit: Duration?
    ) async throws(TimerError) {
        // Held to the end: a timer whose handle is its target would end with its handle.
        defer { withExtendedLifetime(members) {} }
        let (wait, timers) = (HandlerWait(), members.flatMap(\.timers).map { ($0.core, $0.record) })
        for (core, record) in timers {
            if !lastTick || !core.finish(record, wait) { core.end(record, .cancelled, wait) }
        }
        try await wait.untilOver(for: timers, within: limit)
    }
}

extension TimerService {
    /// Ends your own service, and waits up to `limit` of real time for running handlers.
    ///
    /// Otherwise like ``shutdownAndWait(file:line:)``.
    ///
    /// - Parameters:
    ///   - limit: how long to wait.
    ///   - file: the file that a debug build names.
    ///   - line: the line that a debug build names.
    /// - Returns: whether this call ended the service.
    /// - Throws: `TimerError` that names the timers whose handler has not returned within the limit. The service has
    ///   ended nevertheless.
    @discardableResult public func shutdownAndWait(
        within limit: Duration,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws(TimerError) -> Bool {
        try await shutdownAndWait(upTo: limit, file: file, line: line)
    }

    /// The same; without a limit, nothing is thrown.
    package func shutdownAndWait(
        upTo limit: Duration?,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws(TimerError) -> Bool {
        if isShared { return shutdown(file: file, line: line) }
        let wait = HandlerWait()
        let isEnding = core.shutdown(wait)
        try await wait.untilOver(for: core.runningTimers.map { (core, $0) }, within: limit)
        return isEnding
    }
}

extension ServiceCore {
    /// What the caller must still wait for, until a timer that ends is over; nil for nothing.
    fileprivate func remainder(of record: Record) -> Record.Remainder? {
        locked(inForkedChild: nil) { _ in record.remainder }
    }

    /// Whether the running handler of a timer can return only on the executor that the caller occupies.
    fileprivate func handlerNeedsCaller(of record: Record) -> Bool {
        let destination = locked(inForkedChild: .inline) { _ in record.user.destination }
        guard case .task(let tasks) = destination, let actor = tasks.actor(for: record) else { return false }
        return CurrentExecutor.isOf(actor)
    }

    /// The timers whose handlers are running.
    fileprivate var runningTimers: [Record] {
        var records: [Record] = []
        records.reserveCapacity(locked(inForkedChild: 0) { $0.scheduler.runningCount })
        eachRunningTimer { records.append($0) }
        return records
    }
}

extension HandlerWait {
    /// Waits for the handlers of timers, up to `limit` of real time; nil for as long as it takes. Then cancels the
    /// timers.
    ///
    /// - Throws: `TimerError` that names the timers whose handlers are still running or, if no handler runs, those
    ///   whose last tick has not come.
    fileprivate func untilOver(
        for timers: [(core: ServiceCore, record: Record)],
        within limit: Duration?
    ) async throws(TimerError) {
        if await untilOver(within: limit) { return }
        let pending = timers.filter { core, record in
            let isPending = core.remainder(of: record) == .lastTick
            // A last tick that has come by now is not missing.
            return core.end(record, .cancelled) && isPending
        }
        let running = timers.filter { $0.core.remainder(of: $0.record) == .handler }
        let (late, code, what) =
            running.isEmpty
            ? (pending, TimerError.Code.lastTickPending, "last tick") : (running, .handlerRunning, "end")
        // The last handler may have returned by now.
        if late.isEmpty { return }
        let names = late.prefix(3).map { $0.core.name(of: $0.record) } + (late.count > 3 ? ["others"] : [])
        throw TimerError(code, "waiting \(limit?.text ?? "") for the \(what) of \(names.joined(separator: ", "))")
    }
}
