/// The scheduler's invariants, as a check.
extension Scheduler {
    /// What is wrong inside, or between the list, the queues and the alarm; or nil. O(n).
    package var brokenInvariant: String? {
        if let broken = deadlines.brokenInvariant ?? looks.brokenInvariant { return broken }
        if look == nil, timers.closing == 0, armed > nextLook ?? .max { return "the alarm is set too late" }
        var queued = 0
        for position in 0..<timers.count {
            let timer = timers[position]
            if timer.place != position { return "a timer does not know its place in the list" }
            let isQueued = timer.whereabouts == .awaitsDeadline || timer.whereabouts == .awaitsLook
            if isQueued { queued += 1 }
            if timers.isClosing(timer) || timer.isInDelivery { continue }
            let isWaiting = !timer.isPaused && timer.nextDeadline != .max
            if isQueued != isWaiting { return "a timer is queued or waits, but not both" }
            if let broken = brokenPlace(of: timer) { return broken }
        }
        return queued == deadlines.count + looks.count ? nil : "a queue has a timer that the list does not have"
    }

    private func brokenPlace(of timer: TimerEntry) -> String? {
        switch timer.whereabouts {
        case .awaitsDeadline where deadlines.elements[Int(timer.position)].nanoseconds > timer.nextDeadline:
            "a timer comes out after its deadline"
        case .awaitsLook where looks.elements[Int(timer.position)].nanoseconds > timer.nextLook:
            "a timer comes out after its look"
        default: nil
        }
    }

    func checkInvariants() { assert(timers.count > 64 || brokenInvariant == nil, brokenInvariant ?? "") }
}
