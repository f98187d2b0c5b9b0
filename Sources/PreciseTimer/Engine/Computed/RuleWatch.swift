internal import TimerKernel

/// Recomputes the deadlines of a service's computed schedules when the wall clock was set, and about once a
/// minute, because the time zone may have changed. It has one thread while the service has such timers.
final class RuleWatch: Sendable {
    private struct Watched { weak var record: Record? }

    private struct State {
        var records: [ObjectIdentifier: Watched] = [:]
        /// The watch of the clock, and whether it has ended by itself.
        var watch: (stop: @Sendable () -> Void, hasEnded: Lock<Bool>)?
    }

    private let state = Lock(State())

    /// Watches for a timer until it is removed.
    func add(_ record: Record, of core: ServiceCore) throws(TimerError) {
        try state.withLock { state throws(TimerError) in
            if state.watch?.hasEnded.withLock({ $0 }) ?? true {
                let hasEnded = Lock(false)
                let stop = try core.watchClock { [weak self, weak core] _ in
                    if let self, let core { self.recompute(core) }
                } onEnd: { _ in
                    hasEnded.withLock { $0 = true }
                }
                state.watch = (stop, hasEnded)
            }
            state.records[ObjectIdentifier(record)] = Watched(record: record)
        }
    }

    /// Forgets a timer. The watch ends with the last one.
    func remove(_ record: Record) {
        let watch = state.withLock(inForkedChild: nil) { state in
            state.records[ObjectIdentifier(record)] = nil
            return state.records.isEmpty ? state.watch.take() : nil
        }
        watch?.stop()
    }

    private func recompute(_ core: ServiceCore) {
        core.locked(inForkedChild: ()) { $0.clockChecks += 1 }
        for record in state.withLock({ $0.records.values.compactMap(\.record) }) { core.recompute(record, since: nil) }
    }
}

extension ServiceCore {
    /// Has the deadlines of a timer computed anew when the clock was set.
    ///
    /// - Throws: `TimerError` if the system refuses a thread or a descriptor.
    func watchRule(of record: Record) throws(TimerError) -> RuleWatch {
        if lock.isOfAnotherProcess { throw .inForkedChild("scheduling a timer") }
        let watch = locked { $0.ruleWatch }
        try watch.add(record, of: self)
        return watch
    }

    /// Calls `onCheck` after each check of the clocks, about once a minute and at once after a step of the wall clock
    /// or a suspension, until the returned function is called. On virtual time it is called only for steps and
    /// suspensions. Calls `onEnd` if the watch ends by itself, with the error if there is one.
    ///
    /// - Throws: `TimerError` if the system refuses a descriptor or a thread.
    func watchClock(
        _ onCheck: @escaping @Sendable (ClockChanges) -> Void,
        onEnd: @escaping @Sendable (TimerError?) -> Void
    ) throws(TimerError) -> @Sendable () -> Void {
        if let steppingAlarm { return steppingAlarm.watchClock(onCheck) { onEnd(nil) } }
        let watch = try WallClockWatch()
        try watch.start(onCheck: onCheck) { onEnd($0) }
        return { watch.stop() }
    }
}
