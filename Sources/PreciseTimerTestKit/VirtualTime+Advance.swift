internal import PreciseTimer

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
                if work == .none { continue }
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
