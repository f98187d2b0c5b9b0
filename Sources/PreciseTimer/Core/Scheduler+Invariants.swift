/// A check of the scheduler's invariants.
extension Scheduler where User: ~Copyable {
    /// A description of the first broken invariant, within or between the list, the queues and the alarm; or
    /// nil. O(n).
    package var brokenInvariant: String? {
        if let broken = deadlines.brokenInvariant ?? looks.brokenInvariant { return broken }
        if look == nil, timers.closing == 0, armed > nextLook ?? .max { return "the alarm is set too late" }
        var queued = 0
        for position in 0..<timers.count {
            let timer = timers[position]
            if timer.place != position { return "a timer has a wrong place in the list" }
            let isWaiting = timer.whereabouts == .awaitsDeadline || timer.whereabouts == .awaitsLook
            let isQueued = isWaiting || timer.whereabouts == .isCalled && timer.position >= 0
            if isQueued { queued += 1 }
            if timer.whereabouts == .isCalled, let broken = brokenPlace(of: timer) { return broken }
            if timer.place < timers.closing || timer.isInDelivery { continue }
            let mustWait = !timer.isPaused && timer.nextDeadline != .max
            if isWaiting != mustWait { return "a waiting timer is in no queue, or a queued timer does not wait" }
            if let broken = brokenPlace(of: timer) { return broken }
        }
        return queued == deadlines.count + looks.count ? nil : "a queue has a timer that the list does not have"
    }

    private func brokenPlace(of timer: Timer) -> String? {
        switch timer.whereabouts {
        case .isCalled where timer.position >= 0 && deadlines.elements[Int(timer.position)].timer !== timer:
            "a called timer is not in its place"
        case .awaitsDeadline where deadlines.elements[Int(timer.position)].nanoseconds > timer.nextDeadline:
            "a timer comes out after its deadline"
        case .awaitsLook where looks.elements[Int(timer.position)].nanoseconds > timer.nextLook:
            "a timer comes out after its look"
        default: nil
        }
    }

    func checkInvariants() { assert(timers.count > 64 || brokenInvariant == nil, brokenInvariant ?? "") }
}
