import PreciseTimer
import PreciseTimerTestKit

/// The ends of timers, and what is called and released with them.
extension Model {
    /// Ends a timer. False if it had ended.
    @discardableResult
    mutating func end(_ id: Int, _ reason: PreciseTimer.EndReason) -> Bool {
        guard let timer = timers[id], !timer.hasEnded else { return false }
        timers[id]?.ending = reason
        pending.removeAll { $0 == id }
        if !timer.isRunning { tellEnd(id, reason) }
        return true
    }

    /// What is heard of an end, and what the user does then.
    mutating func tellEnd(_ id: Int, _ reason: PreciseTimer.EndReason) {
        seen.insert("\(reason)")
        if events.first != .released(id) { adoptEnds() }
        expectEnd(of: id, reason)
    }

    /// The captures are released, `onEnd` is called, and does what it does.
    mutating func expectEnd(of id: Int, _ reason: PreciseTimer.EndReason) {
        expect(.released(id), adopting: false)
        expect(.ended(id, reason), adopting: false)
        if reason.hasMoment { for step in timers[id]?.plan.epilogue ?? [] { perform(step) } }
    }

    func isDead(_ timer: ModelTimer) -> Bool { timer.target.map(dead.contains) ?? false }

    func isHeldByHandler(_ target: Int) -> Bool {
        timers.values.contains { $0.isRunning && $0.target == target }
    }

    mutating func die(_ target: Int) {
        dead.insert(target)
        expect(.died(target))
    }

    /// Accepts the ends of timers whose target is dead, which may be found at any moment. To be tried only when the next
    /// event is not the expected one: a look that finds a dead target is modelled as well.
    mutating func adoptEnds() {
        while let id = endOfTarget, let timer = timers[id], !timer.hasEnded, isDead(timer) {
            timers[id]?.ending = .targetReleased
            pending.removeAll { $0 == id }
            expectEnd(of: id, .targetReleased)
            seen.insert("\(PreciseTimer.EndReason.targetReleased)")
        }
    }

    /// The timer of which the next events are an end for a dead target.
    var endOfTarget: Int? {
        guard case .ended(let id, .targetReleased) = events.prefix(2).last, events.first == .released(id) else {
            return nil
        }
        return id
    }

    /// Where time has been moved by a second since the last time, no timer of a dead target is left.
    mutating func findDeadTargets() {
        guard elapsed >= nextCare else { return }
        nextCare = elapsed + 1_000_000_000
        adoptEnds()
        guard let id = pending.first(where: { timers[$0].map(isDead) ?? false }) else { return }
        differ("timer \(id) has not ended, though its target is dead and a second has passed")
    }
}
