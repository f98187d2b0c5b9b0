internal import PreciseTimer

extension VirtualTime {
    /// Lets everything arrive that is on its way: ticks to queues, actors, the main actor and `for await` loops, and
    /// tasks that have just been created. Time does not move.
    ///
    /// ```swift
    /// try PreciseTimer.schedule(.every(.seconds(1)), on: virtual.service, target: model) { @MainActor model, _ in
    ///     model.refresh()
    /// }
    /// virtual.advance(by: .seconds(1))
    /// await virtual.settle()
    /// #expect(model.refreshes == 1)
    /// ```
    ///
    /// It waits for ticks that are on their way, for handlers that are running, and for the bodies of `for await` loops
    /// over ticks. A handler or a body may await the next `advance`, and cannot end before: after a second of real time
    /// without any change, settling ends in spite of it. Tasks that have just been created are given some real
    /// milliseconds; so is the body of the last tick of a loop with a count. If a test must be certain that a task has
    /// begun its loop, it settles until ``pendingCount`` shows the loop's timer.
    ///
    /// - Returns: false if after ten real seconds, or when the calling task was cancelled, a tick was still on its way,
    ///   or a handler still occupied a thread or a queue.
    @discardableResult
    public func settle() async -> Bool { await settle(atMost: .seconds(10)) }

    /// The same, with another limit of real time.
    package func settle(atMost patience: Duration) async -> Bool {
        let clock = ContinuousClock()
        let limit = clock.now.advanced(by: patience)
        var (motion, quietRounds, quietSince) = (service.motion, 0, clock.now)
        while true {
            // Real sleep: the task gives its thread to others, and comes back behind those that waited before.
            guard clock.now < limit, (try? await Task.sleep(for: .microseconds(200))) != nil else {
                return motion.hops == 0
            }
            let before = motion
            motion = service.motion
            quietRounds += 1
            if motion != before { (quietRounds, quietSince) = (0, clock.now) }
            if motion.hops > 0 || quietRounds < 12 { continue }
            if motion.tasks == 0 || quietSince.duration(to: clock.now) > .seconds(1) { return true }
        }
    }
}
