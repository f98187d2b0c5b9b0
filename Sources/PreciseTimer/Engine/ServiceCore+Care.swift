internal import TimerCore

/// What the caretaker does for a service.
extension ServiceCore {
    /// Whether the caretaker looks after this service.
    var isCaredFor: Bool {
        get { locked { $0.isCaredFor } }
        set { locked { $0.isCaredFor = newValue } }
    }

    /// Ends timers whose target is gone, and the service if its alarm is silent. Called once a second. Returns whether to go
    /// on with that.
    func takeCare() -> Bool {
        if lock.isOfAnotherProcess { return false }
        let count = pendingCount
        // A million timers are gone through in four seconds.
        endTimersOfDeadTargets(among: min(count, max(4096, count / 4)))
        if let silence = locked({ $0.listen() }) { fail(silence) }
        return locked { $0.goesOnCaring() }
    }

    /// Ends the timers whose target is gone, among so many in turn; in portions, so that no other thread waits long
    /// for the lock.
    func endTimersOfDeadTargets(among count: Int) {
        for _ in 0..<(count + Scheduler.portion - 1) / Scheduler.portion {
            let found = locked { $0.findDeadTargets(among: Scheduler.portion) }
            for record in found.ended.records { record.sayFarewell() }
        }
    }
}
