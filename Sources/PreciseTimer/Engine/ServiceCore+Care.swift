internal import TimerCore

/// The caretaker's once-a-second check of a service.
extension ServiceCore {
    /// Whether the caretaker looks after this service.
    var isCaredFor: Bool {
        get { locked { $0.isCaredFor } }
        set { locked { $0.isCaredFor = newValue } }
    }

    /// Ends the timers whose target was released, and the service if its alarm is silent. Called once a second.
    /// Returns whether the service needs further care.
    func takeCare() -> Bool {
        if lock.isOfAnotherProcess { return false }
        let count = pendingCount
        // At least a quarter of the timers each time: even a million are checked within four seconds.
        endTimersOfDeadTargets(among: min(count, max(4096, count / 4)))
        if let silence = locked({ $0.listen() }) { fail(silence) }
        return locked { $0.goesOnCaring() }
    }

    /// Ends the timers whose target was released, among the next `count` timers. It works in portions, so that no
    /// other thread waits long for the lock.
    func endTimersOfDeadTargets(among count: Int) {
        for _ in 0..<(count + Scheduler.portion - 1) / Scheduler.portion {
            let found = locked { $0.findDeadTargets(among: Scheduler.portion) }
            for record in found.ended.records { record.sayFarewell() }
        }
    }
}
