import PreciseTimer
import PreciseTimerTestKit

/// The ends of timers, and the calls and releases that come with them.
extension Model {
    /// Ends a timer. Returns false if it had ended.
    @discardableResult
    mutating func end(_ id: Int, _ reason: PreciseTimer.EndReason) -> Bool {
        guard let timer = timers[id], !timer.hasEnded else { return false }
        timers[id]?.ending = reason
        pending.removeAll { $0 == id }
        if !timer.isRunning { tellEnd(id, reason) }
        return true
    }

    /// Expects the events of an end, and performs the steps of `onEnd`.
    mutating func tellEnd(_ id: Int, _ reason: PreciseTimer.EndReason) {
        seen.insert("\(reason)")
        if events.first != .released(id) { adoptEnds() }
        expectEnd(of: id, reason)
    }

    /// Expects the captures to be released and `onEnd` to be called, and performs its steps.
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

    /// Accepts the ends of timers whose target is dead, which may be found at any moment. Call this only if the next
    /// event is not the expected one: a look that finds a dead target is modelled as well.
    mutating func adoptEnds() {
        while let id = endOfTarget, let timer = timers[id], !timer.hasEnded, isDead(timer) {
            timers[id]?.ending = .targetReleased
            pending.removeAll { $0 == id }
            expectEnd(of: id, .targetReleased)
            seen.insert("\(PreciseTimer.EndReason.targetReleased)")
        }
    }

    /// The timer whose end for a dead target comes next among the events.
    var endOfTarget: Int? {
        guard case .ended(let id, .targetReleased) = events.prefix(2).last, events.first == .released(id) else {
            return nil
        }
        return id
    }

    /// If time has moved by a second since the last search, expects that every timer with a dead target has ended.
    mutating func findDeadTargets() {
        guard elapsed >= nextCare else { return }
        nextCare = elapsed + 1_000_000_000
        adoptEnds()
        guard let id = pending.first(where: { timers[$0].map(isDead) ?? false }) else { return }
        differ("timer \(id) has not ended, though its target is dead and a second has passed")
    }
}
