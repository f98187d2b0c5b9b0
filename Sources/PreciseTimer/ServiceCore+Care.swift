/// What the caretaker does for a service.
extension ServiceCore {
    /// Whether the caretaker looks after this service.
    var isCaredFor: Bool {
        get { state.withLock { $0.isCaredFor } }
        set { state.withLock { $0.isCaredFor = newValue } }
    }

    /// Ends timers whose target is gone, and the service if its alarm is silent. Called once a second. Returns whether to go
    /// on with that.
    func takeCare() -> Bool {
        if isOfAnotherProcess { return false }
        let slots = slotCapacity
        // A million slots are gone through in four seconds.
        endTimersOfDeadTargets(among: min(slots, max(4096, slots / 4)))
        if let silence = state.withLock({ $0.listen() }) { fail(silence) }
        return state.withLock { $0.goesOnCaring() }
    }

    /// Ends the timers whose target is gone, among the next slots in turn; in portions, so that no other thread waits long
    /// for the lock.
    func endTimersOfDeadTargets(among slots: Int) {
        let portion = 256
        for _ in 0..<(slots + portion - 1) / portion {
            var found = change { $0.findDeadTargets(among: portion) }
            found.perform()
        }
    }
}
