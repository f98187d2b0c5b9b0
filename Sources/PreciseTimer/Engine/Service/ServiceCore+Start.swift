internal import TimerAlarms
internal import TimerKernel

/// Starting a service's alarm. This may take seconds, so it happens without the lock of the state.
extension ServiceCore {
    /// Starts the alarm if it is not running.
    func start() throws(TimerError) { try starting.withLock { _ throws(TimerError) in try startAlarm() } }

    /// Starts the alarm, and hands the service to the supervisor, if that has not been done.
    func prepare() throws(TimerError) {
        try starting.withLock { _ throws(TimerError) in
            try startAlarm()
            if !isSupervised { try Supervisor.current.add(self) }
        }
    }

    private func startAlarm() throws(TimerError) {
        // Each turn but the first follows a shutdown by other code, which was not meant for the timer that starts the
        // service.
        while try !tryStart() {}
    }

    /// Starts the alarm if it is not running. Returns false if the service was shut down meanwhile.
    private func tryStart() throws(TimerError) -> Bool {
        let start = try locked { state throws(TimerError) in try state.beginStart() }
        guard let (makeAlarm, epoch) = start else { return true }
        var alarm: (any TimerAlarm)?
        do throws(TimerError) {
            let made = try makeAlarm()
            alarm = made
            try made.start(
                onFire: { self.fired(epoch) },
                onFailure: { self.fail(Teardown.Failure(error: $0, epoch: epoch)) }
            )
            // The alarm has the descriptors that it needs.
            prepareChecks()
            if try locked({ state throws(TimerError) in try state.finishStart(made) }) { return true }
            made.stop()
            return false
        } catch {
            alarm?.stop()
            locked { $0.abandonStart(makeAlarm, epoch) }
            throw error
        }
    }
}
