internal import TimerAlarms
internal import TimerCore

/// Starting a service's alarm, which may take seconds, without the lock of its state.
extension ServiceCore {
    /// Starts the alarm, if it is not running. That may take seconds, so it happens without the lock of the state.
    func start() throws(TimerError) {
        try starting.withLock { _ throws(TimerError) in try startAlarm() }
    }

    /// Starts the alarm, and has the service looked after, if that is not so already.
    func prepare() throws(TimerError) {
        try starting.withLock { _ throws(TimerError) in
            try startAlarm()
            if !isCaredFor { try Caretaker.current.add(self) }
        }
    }

    private func startAlarm() throws(TimerError) {
        let start = try locked { state throws(TimerError) in try state.beginStart() }
        guard let (makeAlarm, run) = start else { return }
        var alarm: (any TimerAlarm)?
        do throws(TimerError) {
            let made = try makeAlarm()
            alarm = made
            try made.start(
                onFire: { self.deliverDue(run) },
                onFailure: { self.fail(ServiceState.Failure(error: $0, run: run)) }
            )
            try locked { state throws(TimerError) in try state.finishStart(made) }
        } catch {
            alarm?.stop()
            locked { $0.abandonStart(makeAlarm, run) }
            throw error
        }
    }
}
