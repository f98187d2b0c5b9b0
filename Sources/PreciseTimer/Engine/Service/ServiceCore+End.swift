internal import TimerKernel

/// The end of a service, with all its timers.
extension ServiceCore {
    /// Ends all timers and the alarm. Returns whether there was a service to end.
    ///
    /// The caller waits for each running handler that it is not inside of and, if this call ends its timer, until the
    /// timer was finalized.
    @discardableResult func shutdown(_ wait: HandlerWait? = nil) -> Bool {
        let error = TimerError(.shutDown, "scheduling on a service that was shut down")
        return close(.serviceShutDown, epoch: nil, error, wait)
    }

    /// Ends all timers, because the backend has failed.
    func fail(_ failure: Teardown.Failure) { close(.backendFailed, epoch: failure.epoch, failure.error) }

    /// Ends the alarm and, in batches, all timers. If `epoch` is given and is not the present one, this does nothing.
    @discardableResult private func close(
        _ ending: TimerEnding,
        epoch: Int?,
        _ error: TimerError,
        _ wait: HandlerWait? = nil
    ) -> Bool {
        let teardown = locked(inForkedChild: nil) { $0.close(epoch: epoch, answering: error) }
        // No handler begins any more. After the timers have ended, a handler could return unseen, and its thread could
        // still be finalizing its timer.
        if let wait { eachRunningTimer { $0.awaitReturn(wait) } }
        guard let teardown else { return false }
        perform(teardown)
        // A callback may fork, and its child comes here, too.
        while decide(inForkedChild: false, { $0.endBatch(ending, error) }) {}
        return true
    }

    /// Calls a function with each timer whose handler is running, also with those that have ended, under the lock. Asks
    /// in batches, so that other threads get the lock in between.
    func eachRunningTimer(_ body: (Record) -> Void) {
        var position = locked(inForkedChild: 0) { $0.scheduler.runningCount }
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
