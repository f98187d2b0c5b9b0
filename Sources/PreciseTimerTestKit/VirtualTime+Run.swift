internal import PreciseTimer
public import PreciseTimerExecutor
internal import Synchronization
internal import TimerKernel

extension VirtualTime {
    /// Runs tasks and actors on this time: `Task(executorPreference: virtual.executor) { … }`. The same executor each
    /// time. Its jobs run on the thread that moves time. See ``run(_:)``.
    public var executor: TimerExecutor {
        let service = service
        return madeExecutor.withLock { executor in
            let made = executor ?? TimerExecutor(on: service, hasRealTime: false)
            executor = made
            return made
        }
    }

    /// Runs asynchronous code on virtual time, and returns what it returns. Time moves to the next deadline whenever all
    /// tasks wait, so that an hour of sleeps takes no real time.
    ///
    /// ```swift
    /// let virtual = VirtualTime()
    /// let attempts = try await virtual.run {
    ///     let poller = Poller(clock: virtual.clock)
    ///     return try await poller.pollUntilReady()        // sleeps on the clock that it was given
    /// }
    /// #expect(virtual.now == …)
    /// ```
    ///
    /// The body is a task on ``executor``, as are its child tasks, their default actors, and what they await there. The
    /// order of all steps is then the same in each run, and each sleep on ``clock`` has exactly its length.
    ///
    /// The main actor, `Task { }`, `Task.detached`, `Task.sleep`, and other executors are outside of virtual time. Their
    /// return is counted (``TimerExecutor/strays``), and from then on time moves only after ``settle()``, as in
    /// `advance(by:)`. Before that, time may move while the body waits for them. A handler of a timer that runs
    /// elsewhere, such as on an actor, is waited for likewise.
    ///
    /// If the calling task is cancelled, the body's task is cancelled, too. Inside another `run`, the body is just
    /// called. Inline handlers are called in the caller's isolation.
    ///
    /// - Parameter body: the code. Timers that it leaves stay, and so do tasks that it does not await.
    /// - Returns: the result of the body.
    /// - Throws: the error of the body; ``Stuck`` if no deadline remains, and for ten real seconds the body does not
    ///   go on, or if it does not go on while a million rounds of repeating timers pass; `TimerError` if the service was
    ///   shut down.
    public nonisolated(nonsending) func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await run(patience: 10_000, rounds: 1_000_000, body)
    }

    /// The same with other limits: real milliseconds, and rounds.
    package nonisolated(nonsending) func run<Value: Sendable>(
        patience: Int,
        rounds: Int,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard var end = alarm.begin(.seconds(Int64.max)) else { return try await body() }
        let run = try Run(body, on: self)
        let task = run.task
        return try await withTaskCancellationHandler {
            if try await !move(until: { run.isOver }, before: &end, patience: patience, rounds: rounds) {
                let stuck = Stuck(self)
                task.cancel()
                alarm.advance(by: .zero)
                throw stuck
            }
            return try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Moves time from deadline to deadline until a condition holds. Returns false if that cannot be expected any more.
    private nonisolated(nonsending) func move(
        until isOver: @Sendable () -> Bool,
        before end: inout UInt64,
        patience: Int,
        rounds: Int
    ) async throws -> Bool {
        var stuck = Activity()
        let followers = Follower.all
        var (isSettled, mustSettle) = (false, false)
        var (jobs, lastProgress, round) = (0, 0, 0)
        while !isOver() {
            let firing = alarm.nextFiring(until: end)
            if firing.map({ $0 > now }) ?? true {
                if !isSettled, mustSettle || executor.strays > 0 {
                    _ = await settle(
                        atMost: .seconds(10),
                        silence: .milliseconds(100),
                        beside: &stuck,
                        behind: followers
                    )
                    (isSettled, mustSettle) = (true, false)
                    continue
                }
            }
            let work = firing.map(service.pendingWork) ?? []
            guard alarm.step(until: &end) else {
                if await comesBack(isOver, within: patience) { continue }
                return false
            }
            endTimersOfDeadTargets()
            (isSettled, mustSettle, round) = (false, mustSettle || work.contains(.handler), round + 1)
            if executor.jobs != jobs { (jobs, lastProgress) = (executor.jobs, round) }
            if round - lastProgress >= rounds {
                if service.pendingWork(by: .never(on: now.clock).advanced(by: .nanoseconds(-1))).isEmpty { return false }
                lastProgress = round
            }
        }
        return true
    }

    /// Waits in real time until a deadline has come, or the condition holds. Nothing remains to be done on virtual time.
    private func comesBack(_ isOver: @Sendable () -> Bool, within patience: Int) async -> Bool {
        for _ in 0..<patience {
            if isOver() || nextDeadline != nil { return true }
            // Detached: the caller may be cancelled.
            await Task.detached { try? await Task.sleep(for: .milliseconds(1)) }.value
        }
        return false
    }

    /// What `run` throws if its body waits for something that does not come.
    public struct Stuck: Error, CustomStringConvertible {
        /// When, and what remains, as in `the body of run(_:) waits for something that no timer brings; virtual time
        /// 5 s, 1 timer: "poll" at rest; 2 jobs came from outside of virtual time`.
        public let description: String

        fileprivate init(_ virtual: VirtualTime) {
            let strays = virtual.executor.strays
            let outside = strays == 0 ? "no job came" : strays == 1 ? "1 job came" : "\(strays) jobs came"
            description =
                "the body of run(_:) waits for something that no timer brings; \(virtual); "
                + "\(outside) from outside of virtual time"
        }
    }
}

/// The body of a `run`, as a task.
private final class Run<Value: Sendable>: Sendable {
    private let made = Lock<Task<Value, any Error>?>(nil)
    private let end = Atomic(false)

    init(_ body: @escaping @Sendable () async throws -> Value, on virtual: VirtualTime) throws {
        // A task that is made in a round is no stray.
        let executor = virtual.executor
        let starter = try PreciseTimer.schedule(.once(after: .zero), on: virtual.service) { [self] _, _ in
            let task = Task(executorPreference: executor) {
                defer { self.end.store(true, ordering: .releasing) }
                return try await body()
            }
            made.withLock { $0 = task }
        }
        virtual.alarm.advance(by: .zero)
        withExtendedLifetime(starter) {}
    }

    var task: Task<Value, any Error> { made.withLock { $0 }! }
    var isOver: Bool { end.load(ordering: .acquiring) }
}
