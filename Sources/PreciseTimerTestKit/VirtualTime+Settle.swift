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
    /// It waits for ticks that are on their way, and for handlers that occupy a thread. It cannot know what a task is
    /// going to do. So it also gives tasks a few real milliseconds: the tasks that were just created, the bodies of
    /// `for await` loops, and handlers that await something, which may be the next `advance`. If a test must be certain
    /// that a task has begun its loop, it settles until ``pendingCount`` shows the loop's timer.
    ///
    /// - Returns: false if after ten real seconds, or when the calling task was cancelled, a tick was still on its way
    ///   or a handler still occupied a thread.
    @discardableResult
    public func settle() async -> Bool { await settle(atMost: .seconds(10)) }

    /// The same, with another limit of real time.
    package func settle(atMost patience: Duration) async -> Bool {
        let clock = ContinuousClock()
        let limit = clock.now.advanced(by: patience)
        var (motion, quietRounds) = (service.motion, 0)
        // In a quiet round nothing has changed. Tasks have as many rounds as they may need on a busy machine.
        while quietRounds < (motion.hops > 0 ? .max : motion.tasks > 0 ? 100 : 12) {
            // Real sleep: the task gives its thread to others, and comes back behind those that waited before.
            guard clock.now < limit, (try? await Task.sleep(for: .microseconds(200))) != nil else {
                return motion.hops == 0
            }
            let before = motion
            motion = service.motion
            quietRounds = motion == before ? quietRounds + 1 : 0
        }
        return true
    }
}
