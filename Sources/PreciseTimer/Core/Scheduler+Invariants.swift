/// A check of the scheduler's invariants.
extension Scheduler {
    /// A description of the first broken invariant, within or between the list, the queue and the alarm; or
    /// nil. O(n).
    package var brokenInvariant: String? {
        if let broken = waiting.brokenInvariant { return broken }
        // The alarm of deferred timers fires at once: it only has to be set.
        let isLate = armed > waiting.first?.nanoseconds ?? .max || hasDeferred && armed == .max
        if round == nil, timers.closing == 0, isLate { return "the alarm is set too late" }
        var queued = 0
        for position in 0..<timers.count {
            let timer = timers[position]
            if timer.listPosition != position { return "a timer has a wrong position in the list" }
            let isWaiting = timer.stage == .queued || timer.stage == .deferred
            let isQueued = isWaiting || timer.stage == .firing && timer.position >= 0
            if isQueued { queued += 1 }
            if timer.stage == .firing, let broken = brokenPosition(of: timer) { return broken }
            if timers.mustEnd(timer) || timer.isInDelivery { continue }
            let mustWait = !timer.timing.isPaused && timer.timing.nextDeadline != .max
            if isWaiting != mustWait { return "a waiting timer is not queued, or a queued timer does not wait" }
            if let broken = brokenPosition(of: timer) { return broken }
        }
        return queued == waiting.count + deferred.count ? nil : "the queue has a timer that the list does not have"
    }

    private func brokenPosition(of timer: Timer) -> String? {
        if timer.position < 0 || timer.isInDelivery && timer.stage != .firing { return nil }
        if timer.stage == .deferred {
            return deferred[Int(timer.position)] === timer ? nil : "a deferred timer is not at its position"
        }
        let element = waiting.element(of: timer)
        if element.timer !== timer { return "a timer is not at its position" }
        let isLate = timer.stage == .queued && element.nanoseconds > timer.timing.lastInstant
        return isLate ? "a timer comes out after its last instant" : nil
    }

    /// In debug builds, stops at a change that broke an invariant, or soon after. A change checks 8 timers on the
    /// average: with more of them, fewer changes check them all, and none with more than 64.
    mutating func checkInvariants() { assert(!isCheckDue() || brokenInvariant == nil, brokenInvariant ?? "") }

    private mutating func isCheckDue() -> Bool {
        unchecked = unchecked + 8 < timers.count ? unchecked + 8 : 0
        return unchecked == 0 && timers.count <= 64
    }
}
