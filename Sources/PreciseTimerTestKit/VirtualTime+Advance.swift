package import PreciseTimer
internal import PreciseTimerExecutor
internal import Synchronization

extension VirtualTime {
    /// Moves time forward, stops at every deadline on the way as in a synchronous test, and lets each tick arrive
    /// before time goes on: at queues, actors, the main actor, `for await` loops and sleeps on the service's clock.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { @MainActor model, _ in
    ///     model.refresh()
    /// }
    /// await virtual.advance(by: .seconds(5))
    /// #expect(model.refreshes == 5)
    /// ```
    ///
    /// It settles (``settle()``) before time moves, so that tasks that have just been created begin, and on arrival. On
    /// the way it settles if a handler runs elsewhere, if a timer without a further deadline of its own ticks, such as
    /// a sleep or a time-out, and if the clock was stepped. Each settling takes some real milliseconds, and a tenth of
    /// a second if a handler or a body awaits a later deadline. Inline ticks of repeating timers take none, and tasks
    /// that such a handler creates may run only on arrival. A tick that cannot arrive, for example because its queue
    /// is suspended, is waited for once, and not at each deadline.
    ///
    /// Inline ticks are delivered in the caller's isolation. ``advanceWithoutSettling(by:)`` moves time in an
    /// asynchronous test without settling.
    ///
    /// - Parameter duration: the length of time, which must not be negative.
    /// - Returns: false if on arrival a tick was still on its way, after ten real seconds, or because the calling task
    ///   was cancelled.
    @discardableResult public nonisolated(nonsending) func advance(by duration: Duration) async -> Bool {
        await advance(by: duration, patience: .seconds(10))
    }

    /// The same, with another limit of real time for each settling.
    package nonisolated(nonsending) func advance(by duration: Duration, patience: Duration) async -> Bool {
        precondition(duration >= .zero, "time does not move back")
        var stuck = Activity()
        let followers = Follower.all
        _ = await settle(atMost: patience, beside: &stuck, behind: followers)
        if var end = alarm.begin(duration) {
            while true {
                // Asked before, because a tick may have arrived, and its timer ended, before the firing returns.
                let work = alarm.nextFiring(until: end).map(service.pendingWork) ?? .task
                guard alarm.step(until: &end) else { break }
                if work.isEmpty { continue }
                // The service knows when a handler returns, so few rounds are enough. A handler that awaits a later
                // deadline gets less time here than on arrival: it may do so at each tick.
                let (rounds, silence) = (work == .handler ? 4 : 12, Duration.milliseconds(100))
                _ = await settle(
                    atMost: patience,
                    rounds: rounds,
                    silence: silence,
                    beside: &stuck,
                    behind: followers
                )
            }
            alarm.arrive(at: end)
        }
        endTimersOfDeadTargets()
        return await settle(atMost: patience, beside: &stuck, behind: followers)
    }
}

/// Follows the tasks of one priority, which wait for threads of their own: sends a task behind them.
package final class Follower: Sendable {
    private let priority: TaskPriority
    private let hasRun = Atomic(true)

    private init(_ priority: TaskPriority) { self.priority = priority }

    /// One for each priority.
    package static var all: [Follower] { [.background, .utility, .medium, .high].map(Follower.init) }

    var isBack: Bool { hasRun.load(ordering: .acquiring) }

    /// Sends the task, unless it is still on its way. No task awaits it, because that would raise its priority.
    func send() {
        guard hasRun.exchange(false, ordering: .relaxed) else { return }
        Task.detached(priority: priority) { self.hasRun.store(true, ordering: .releasing) }
    }
}

extension VirtualTime {
    /// Lets everything arrive that is on its way: ticks to queues, actors, the main actor and `for await` loops, and
    /// tasks that have just been created, and jobs of the ``executor``. Time does not move.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { @MainActor model, _ in
    ///     model.refresh()
    /// }
    /// virtual.jump(by: .seconds(1))
    /// await virtual.settle()
    /// #expect(model.refreshes == 1)
    /// ```
    ///
    /// It waits for ticks that are on their way, for handlers that are running, and for the bodies of `for await` loops
    /// over ticks. A handler or a body may await the next `advance`, and cannot end before: after about a second
    /// without any change, longer on a busy machine, settling ends in spite of it. Tasks that have just been created
    /// are given some real milliseconds, and until their priority's threads are free; so is the body of the last tick
    /// of a loop with a count. A task whose thread the machine holds up may need longer: if a test must be certain that
    /// a task has begun its loop or its pause, it settles until ``pendingCount`` shows the timer.
    ///
    /// - Returns: false if after ten real seconds, or when the calling task was cancelled, a tick was still on its way,
    ///   or a handler still occupied a thread or a queue.
    @discardableResult public nonisolated(nonsending) func settle() async -> Bool {
        await settle(atMost: .seconds(10))
    }

    /// The same, with another limit of real time. Its rounds pass through the pool in which most tasks wait, whichever
    /// executor the caller prefers. While a `run` moves time, it also runs the jobs.
    package nonisolated(nonsending) func settle(atMost patience: Duration) async -> Bool {
        var stuck = Activity()
        return await settle(atMost: patience, runsJobs: !isRunning.withLock { $0 }, beside: &stuck)
    }

    /// The same, without waiting again for what an earlier call has waited for in vain: `stuck`, and followers that are
    /// not back. It ends after a number of rounds without any change, and if a handler or a body awaits something, or a
    /// priority has no free thread, after a length of time without any.
    package nonisolated(nonsending) func settle(
        atMost patience: Duration,
        rounds: Int = 12,
        silence: Duration = .seconds(1),
        runsJobs: Bool = true,
        beside stuck: inout Activity,
        behind followers: [Follower] = Follower.all
    ) async -> Bool {
        let followers = followers.filter(\.isBack)
        let limit = ContinuousClock.now.advanced(by: patience)
        while true {
            let known = stuck
            let (isSettled, activity) = await withTaskExecutorPreference(globalConcurrentExecutor) {
                await passRounds(rounds, silence, until: limit, runsJobs, beside: known, behind: followers)
            }
            guard runsJobs, hasWaitingJobs else {
                stuck = activity
                return isSettled
            }
            alarm.advance(by: .zero)
        }
    }

    /// Whether jobs of the executor are ready, and no other thread runs them. Moving time by no time at all runs them.
    private var hasWaitingJobs: Bool {
        madeExecutor.withLock { $0 }.map { $0.hasWaitingJobs && !alarm.isFiring } ?? false
    }

    private func passRounds(
        _ rounds: Int,
        _ silence: Duration,
        until limit: ContinuousClock.Instant,
        _ runsJobs: Bool,
        beside stuck: Activity,
        behind followers: [Follower]
    ) async -> (Bool, Activity) {
        let clock = ContinuousClock()
        var now = clock.now
        var (activity, quietRounds, quiet) = (service.activity, 0, Duration.zero)
        while !(runsJobs && hasWaitingJobs) {
            for follower in followers { follower.send() }
            // Real sleep: the task gives its thread to others, and comes back behind those that waited before.
            guard now < limit, (try? await Task.sleep(for: .microseconds(200))) != nil else {
                return (activity.hops == 0, activity)
            }
            let (before, start) = (activity, now)
            (activity, now) = (service.activity, clock.now)
            quietRounds += followers.allSatisfy(\.isBack) ? 1 : 0
            // If all threads were held up, a round takes long, and others could do no more in it than in a short one.
            quiet += min(start.duration(to: now), .milliseconds(2))
            if activity != before { (quietRounds, quiet) = (0, .zero) }
            if activity.hops > stuck.hops || (quietRounds < rounds && quiet <= silence) { continue }
            if activity.tasks <= stuck.tasks || quiet > silence { return (activity.hops == 0, activity) }
        }
        return (false, activity)
    }
}
