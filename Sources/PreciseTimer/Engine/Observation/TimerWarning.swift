internal import TimerKernel

/// A warning of debug builds about a timer, on standard error. A process writes each for the first 16 call sites, and
/// once for each of them.
final class TimerWarning: Sendable {
    /// The handle was released before the first tick.
    static let droppedHandle = TimerWarning { _ in
        "the handle of this timer was dropped before its first tick, which ended the timer; keep the handle, or "
            + "schedule with a target"
    }
    /// The target was released before the first tick.
    static let lostTarget = TimerWarning { _ in
        "the target of this timer was released before its first tick, which ended the timer; if that was not "
            + "intended, keep the target: the timer does not"
    }
    /// An error ended the timer, and nobody was told.
    static let unheardError = TimerWarning { error in
        "the handler of this timer threw an error, which ended the timer, and nobody was told: \(error); pass "
            + "`onError:`, and the timer goes on, or `onEnd:`"
    }

    private let text: @Sendable (_ detail: String) -> String
    private let sites = Lock(Set<CallSite>())

    private init(_ text: @escaping @Sendable (String) -> String) { self.text = text }

    /// Writes it, unless it was written before.
    func write(for record: Record, _ detail: String = "") {
        let isNew = sites.withLock(inForkedChild: false) { $0.count < 16 && $0.insert(record.user.site).inserted }
        if isNew { StandardError.writeLine(record.user.site.message(text(detail))) }
    }
}

extension Record {
    /// Whether a released target ended the timer before its first tick, although it had a period.
    var hasLostItsTargetAtOnce: Bool {
        ending == .targetReleased && user.ticks == 0 && timing.leastPeriod != .max && !timing.isOnDemand
    }
}
