internal import Dispatch
internal import TimerKernel

/// Ending a timer and waiting for its handler.
extension PreciseTimer {
    /// Ends the timer, and waits for a handler that is running. Returns true for the one call that ended it.
    ///
    /// After it returns, no handler of the timer runs or will run. The call that ended the timer returns after the
    /// handler's captures were released and `onEnd` was called. Called from inside the handler, or from the `deinit` of
    /// a target that dies with the delivery, it returns at once. It blocks the calling thread while the handler runs:
    /// do not hold a lock that the handler waits for, and do not let two handlers wait for each other.
    @available(*, noasync, message: "use the async form (at the top level, in a function of your own)")
    @discardableResult
    public func cancelAndWait() -> Bool {
        let returned = DispatchSemaphore(value: 0)
        let (isEnding, mustWait) = core.end(record, .cancelled) { returned.signal() }
        if mustWait { returned.wait() }
        return isEnding
    }

    /// Ends the timer, and waits for a handler that is running. Returns true for the one call that ended it.
    ///
    /// Like the blocking form, but without blocking a thread. It waits even if the task is cancelled. A task that was
    /// created inside the handler counts as inside while that handler runs.
    @discardableResult
    public func cancelAndWait() async -> Bool {
        var isEnding = false
        await withCheckedContinuation { continuation in
            let mustWait: Bool
            (isEnding, mustWait) = core.end(record, .cancelled) { continuation.resume() }
            if !mustWait { continuation.resume() }
        }
        return isEnding
    }

    /// Ends the timer after one last tick, and waits for that tick's handler: for work that collects between two ticks,
    /// and must not be lost at the end.
    ///
    /// If deadlines have passed already, the last tick is theirs. Otherwise an extra tick comes as soon as possible
    /// (``Tick/isExtra``). The timer then ends with ``EndReason/completed``, also one on demand. It has no last tick if
    /// it is paused, which cancels it, or if it had ended. Called from inside the handler, it does not wait.
    ///
    /// - Parameter limit: how long to wait, in real time; nil for as long as it takes, and not at all if it is
    ///   negative. After that the timer is cancelled, and so is the task of its handler.
    /// - Returns: whether the timer ended with a last tick.
    /// - Throws: `TimerError` with the code ``TimerError/Code/handlerRunning`` if its handler has not returned within
    ///   the limit.
    @discardableResult
    public func finish(atMost limit: Duration? = nil) async throws(TimerError) -> Bool {
        try await PreciseTimer.end([(core, record)], lastTick: true, atMost: limit) == 1
    }
}

extension TimerBag {
    /// Ends all timers after one last tick each, as ``PreciseTimer/finish(atMost:)`` does, removes them, and waits for
    /// their handlers.
    ///
    /// - Parameter limit: how long to wait for all of them, in real time; nil for as long as it takes.
    /// - Throws: `TimerError` that names the timers whose handler has not returned within the limit.
    public func finishAll(atMost limit: Duration? = nil) async throws(TimerError) {
        try await endAll(lastTick: true, atMost: limit)
    }

    /// Cancels all timers and removes them, and waits for their handlers that are running, for at most a real time.
    ///
    /// - Throws: `TimerError` that names the timers whose handler has not returned within the limit.
    public func cancelAllAndWait(atMost limit: Duration) async throws(TimerError) {
        try await endAll(lastTick: false, atMost: limit)
    }

    /// Ends all timers in one of the two ways.
    package func endAll(lastTick: Bool, atMost limit: Duration?) async throws(TimerError) {
        // Held to the end: a timer whose handle is its target would end with its handle.
        let timers = removeAll()
        defer { withExtendedLifetime(timers) {} }
        _ = try await PreciseTimer.end(timers.map { ($0.core, $0.record) }, lastTick: lastTick, atMost: limit)
    }
}

extension TimerService {
    /// Ends your own service, after a last tick of each of its timers if that is wanted, and waits for running
    /// handlers.
    ///
    /// Otherwise like ``shutdownAndWait(file:line:)``, and ``PreciseTimer/finish(atMost:)`` for each timer.
    ///
    /// - Parameters:
    ///   - lastTick: whether each timer that is not paused gets a last tick.
    ///   - limit: how long to wait, in real time; nil for as long as it takes.
    ///   - file: the file that a debug build names.
    ///   - line: the line that a debug build names.
    /// - Returns: whether this call ended the service.
    /// - Throws: `TimerError` that names the timers whose handler has not returned within the limit. The service has
    ///   ended in spite of it.
    @discardableResult
    public func shutdownAndWait(
        lastTick: Bool,
        atMost limit: Duration? = nil,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws(TimerError) -> Bool {
        if isShared { return shutdown(file: file, line: line) }
        // The library's own timers end with the service.
        let timers = core.survey { sight in (core, sight.record) }.filter { !($0.1.user.target is any WithoutLastTick) }
        let start = ContinuousClock.now
        do throws(TimerError) {
            if lastTick { _ = try await PreciseTimer.end(timers, lastTick: true, atMost: limit) }
        } catch {
            core.shutdown()
            throw error
        }
        let group = DispatchGroup()
        let isEnding = core.shutdown(group)
        let rest = limit.map { $0 - start.duration(to: .now) }
        try await PreciseTimer.wait(for: group, of: timers, atMost: rest, limit: limit)
        return isEnding
    }
}

extension PreciseTimer {
    fileprivate typealias Known = (core: ServiceCore, record: Record)

    /// Ends timers, with a last tick or without, and waits for their handlers, for at most a real time. Returns how
    /// many of them ended with a last tick.
    fileprivate static func end(
        _ timers: [Known],
        lastTick: Bool,
        atMost limit: Duration?
    ) async throws(TimerError) -> Int {
        let group = DispatchGroup()
        var finishing: [Known] = []
        for (core, record) in timers {
            if lastTick, core.finish(record, group) {
                finishing.append((core, record))
            } else {
                group.enter()
                if !core.end(record, .cancelled, { group.leave() }).mustWait { group.leave() }
            }
        }
        try await wait(for: group, of: timers, atMost: limit, limit: limit)
        // Another call, or the release of the target, may have ended a timer before its last tick.
        return finishing.count { $0.core.isCompletedOrGoesOn($0.record) }
    }

    /// Waits until a group is empty. If that takes longer than the rest of the limit, in real time, cancels the timers,
    /// and throws an error with the names of those whose handlers are still running.
    fileprivate static func wait(
        for group: DispatchGroup,
        of timers: [Known],
        atMost rest: Duration?,
        limit: Duration?
    ) async throws(TimerError) {
        if await group.isEmpty(within: rest) { return }
        for (core, record) in timers { core.end(record, .cancelled) }
        let running = timers.filter { !$0.core.hasReturned($0.record) }
        let names = running.prefix(3).map { $0.core.name(of: $0.record) } + (running.count > 3 ? ["others"] : [])
        let what = names.isEmpty ? "handlers of timers that had ended before" : names.joined(separator: ", ")
        throw TimerError(.handlerRunning, "waiting \(limit?.text ?? "") for the end of \(what)")
    }
}

extension DispatchGroup {
    /// Waits until the group is empty. Returns false if that takes longer than a real time.
    fileprivate func isEmpty(within limit: Duration?) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = Lock<CheckedContinuation<Bool, Never>?>(continuation)
            notify(queue: .global()) { answer.withLock { $0.take() }?.resume(returning: true) }
            guard let limit else { return }
            let nanoseconds = max(.zero, limit).nanosecondsOrForever
            let time = DispatchTimeInterval.nanoseconds(Int(clamping: nanoseconds))
            DispatchQueue.global()
                .asyncAfter(deadline: .now() + time) {
                    answer.withLock { $0.take() }?.resume(returning: false)
                }
        }
    }
}
