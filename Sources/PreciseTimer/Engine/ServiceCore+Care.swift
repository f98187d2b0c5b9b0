internal import TimerAlarms
internal import TimerCore

/// The caretaker's once-a-second checks of a service.
extension ServiceCore {
    /// Whether the caretaker looks after this service.
    var isCaredFor: Bool {
        get { locked { $0.isCaredFor } }
        set { locked { $0.isCaredFor = newValue } }
    }

    /// Returns a failure if the alarm is silent. A thread that only waits for a processor, or that a debugger may hold
    /// up, is late, and its alarm has not failed. A thread that runs all the time, and does not fire, has failed.
    func listen(at now: TimerInstant) -> ServiceState.Failure? {
        guard let silence = locked({ $0.listen(at: now.nanoseconds) }) else { return nil }
        switch setup.holdUp {
        case nil: return silence
        case .debugger: return nil
        case .processors(let ran): return locked { $0.care.silence.hasRun(ran) } ? silence : nil
        }
    }

    /// Whether the service has timers, and so needs further care.
    func goesOnCaring() -> Bool { locked { $0.goesOnCaring() } }

    /// Ends the timers whose target was released, among a quarter of the timers or more. Does nothing while another
    /// thread does the same: a callback may keep it there.
    func takeCare() {
        guard let share = locked({ $0.beginCare() }) else { return }
        endTimersOfDeadTargets(among: share)
        locked(inForkedChild: ()) { $0.endCare() }
    }

    /// Ends the timers whose target was released, among the next `count` timers. It works in portions, so that no
    /// other thread waits long for the lock.
    func endTimersOfDeadTargets(among count: Int) {
        for _ in 0..<(count + Scheduler.portion - 1) / Scheduler.portion {
            // The targets are released and the farewells said here, and each may fork.
            let found = locked(inForkedChild: ServiceState.Found()) { $0.findDeadTargets(among: Scheduler.portion) }
            for record in found.ended.records { record.sayFarewell() }
        }
    }
}
