internal import PreciseTimer
public import PreciseTimerExecutor
internal import TimerKernel

extension VirtualTime {
    /// Runs tasks and actors on virtual time, on the thread that moves it. It is the same executor at each reading.
    ///
    /// ``run(_:)`` uses it. Actors can use it, too, and tasks that the body starts without waiting for them:
    /// `Task(executorPreference: virtual.executor) { … }`.
    public var executor: TimerExecutor {
        let service = service
        return madeExecutor.withLock { executor in
            let made = executor ?? TimerExecutor(on: service, hasRealTime: false)
            executor = made
            return made
        }
    }

    /// Runs asynchronous code on virtual time. Time moves to the next deadline whenever every task waits, so an hour of
    /// sleeps takes no real time.
    ///
    /// ```swift
    /// let virtual = VirtualTime()
    /// let reply = try await virtual.run {
    ///     try await virtual.clock.sleep(for: .seconds(3_600))
    ///     return try await connection.ask()
    /// }
    /// ```
    ///
    /// The body runs on ``executor``, and with it its child tasks and the default actors that it calls. Each sleep on
    /// ``clock`` then has exactly its length, and all steps happen in the same order in each run.
    ///
    /// The main actor, `Task { }`, `Task.detached`, `Task.sleep`, other executors and handlers of timers on actors or
    /// queues are outside of virtual time. The executor's `strays` counts what comes back from there. From the first
    /// return on, time moves only after ``settle()``, as in `advance(by:)`. Before it, time may move while the body
    /// waits for something outside.
    ///
    /// If the calling task is cancelled, so is the body. A `run` that the body calls only calls its own body. Two at
    /// once on different threads are a programming error: only one thread may move time. Inline handlers of timers are
    /// called in the caller's isolation. When `run` has returned, an actor on ``executor`` waits for the next call that
    /// moves time.
    ///
    /// - Parameter body: the code. Its timers, and the tasks for which it does not wait, stay when it returns.
    /// - Returns: the body's result.
    /// - Throws: the body's error. ``Stuck`` if the body waits and no deadline remains, after ten real seconds in which
    ///   nothing happens, or if only repeating timers remain, after a million rounds in which no task goes on. The body
    ///   is then cancelled.
    public nonisolated(nonsending) func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await run(patience: 10_000, rounds: 1_000_000, body)
    }

    /// The same with other limits: a number of real milliseconds, and of rounds.
    package nonisolated(nonsending) func run<Value: Sendable>(
        patience: Int,
        rounds: Int,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if alarm.isInsideFiring { return try await body() }
        let (executor, isOver) = (executor, Lock(false))
        executor.expectStray()
        let task = Task(executorPreference: executor) {
            defer { isOver.withLock { $0 = true } }
            return try await body()
        }
        isRunning.withLock { $0 = true }
        defer { isRunning.withLock { $0 = false } }
        return try await withTaskCancellationHandler {
            if await move(until: { isOver.withLock { $0 } }, patience, rounds) { return try await task.value }
            let stuck = Stuck(self)
            // The body's tasks end now if they heed it.
            task.cancel()
            alarm.advance(by: .zero)
            throw stuck
        } onCancel: {
            task.cancel()
        }
    }

    /// Moves time from deadline to deadline until a condition holds. Returns false if nothing can make it hold.
    private nonisolated(nonsending) func move(
        until isOver: @Sendable () -> Bool,
        _ patience: Int,
        _ rounds: Int
    ) async -> Bool {
        let followers = Follower.all
        var (end, stuck) = (UInt64.max, Activity())
        // Whether everything has arrived that is due at this instant.
        var isSettled = false
        var (jobs, roundsWithoutJobs) = (0, 0)
        while !isOver() {
            let firing = alarm.nextFiring(until: end)
            let timeWillMove = firing.map { $0 > now } ?? true
            if timeWillMove, !isSettled, executor.strays > 0 {
                _ = await settle(atMost: .seconds(10), silence: .milliseconds(100), beside: &stuck, behind: followers)
                isSettled = true
                continue
            }
            let work = firing.map(service.pendingWork) ?? []
            guard alarm.step(until: &end) else {
                if await somethingHappens(until: isOver, patience) { continue }
                return false
            }
            endTimersOfDeadTargets()
            // The handler may call an actor, and it is not known when that is done.
            if work.contains(.handler) { executor.noteStray() }
            isSettled = false
            roundsWithoutJobs = executor.jobs == jobs ? roundsWithoutJobs + 1 : 0
            jobs = executor.jobs
            if roundsWithoutJobs > rounds {
                let lastInstant = TimerInstant.never(on: now.clock).advanced(by: .nanoseconds(-1))
                if !service.pendingWork(by: lastInstant).contains(.task) { return false }
                roundsWithoutJobs = 0
            }
        }
        return true
    }

    /// Waits in real time, while virtual time has nothing to do, until a deadline comes or the condition holds.
    private func somethingHappens(until isOver: @Sendable () -> Bool, _ patience: Int) async -> Bool {
        for _ in 0..<patience {
            if isOver() || nextDeadline != nil { return true }
            // In another task, because this one may be cancelled.
            await Task.detached { try? await Task.sleep(for: .milliseconds(1)) }.value
        }
        return false
    }

    /// The error of a ``VirtualTime/run(_:)`` whose body waits for something that does not come.
    public struct Stuck: Error, CustomStringConvertible {
        /// The time, the timers that remain, and how much came from outside, as in `the body waits for something that
        /// no timer brings; virtual time 5 s, 1 timer: "news" at rest; 2 jobs came from outside of virtual time`.
        public let description: String

        package init(_ virtual: VirtualTime) {
            let strays = virtual.executor.strays
            let jobs = strays == 0 ? "no job" : strays == 1 ? "1 job" : "\(strays) jobs"
            let outside = "\(jobs) came from outside of virtual time"
            description = "the body waits for something that no timer brings; \(virtual); \(outside)"
        }
    }
}
