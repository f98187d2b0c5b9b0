internal import TimerKernel

/// Has the deadlines of a service's computed schedules computed anew when the wall clock was set, and about once a
/// minute, because the time zone may have changed. It has one thread while the service has such timers.
final class RuleWatch: Sendable {
    private struct Watched { weak var record: Record? }

    /// A watch of the clock.
    private struct Watch {
        let stop: @Sendable () -> Void
        /// Whether it has ended by itself.
        let hasEnded: Lock<Bool>
    }

    private struct State {
        var records: [ObjectIdentifier: Watched] = [:]
        var watch: Watch?
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
                state.watch = Watch(stop: stop, hasEnded: hasEnded)
            }
            state.records[ObjectIdentifier(record)] = Watched(record: record)
        }
    }

    /// Forgets a timer. The watch ends with the last one.
    func remove(_ record: Record) {
        let watch: Watch? = state.withLock(inForkedChild: nil) { state in
            state.records[ObjectIdentifier(record)] = nil
            return state.records.isEmpty ? state.watch.take() : nil
        }
        watch?.stop()
    }

    private func recompute(_ core: ServiceCore) {
        let records = state.withLock { $0.records.values.compactMap(\.record) }
        for record in records { core.clockWasSet(for: record) }
    }
}

extension ServiceCore {
    /// Has the deadlines of a timer computed anew when the clock was set. Returns nil on a Mac, which cannot tell.
    ///
    /// - Throws: `TimerError` if the system refuses a thread or a descriptor.
    func watchRule(of record: Record) throws(TimerError) -> RuleWatch? {
        if lock.isOfAnotherProcess { throw .inForkedChild("scheduling a timer") }
        let watch = locked { $0.ruleWatch }
        do throws(TimerError) { try watch.add(record, of: self) } catch {
            if error.code == .unavailable { return nil }
            throw error
        }
        return watch
    }
}
