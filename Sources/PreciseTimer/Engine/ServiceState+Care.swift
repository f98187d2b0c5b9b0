internal import TimerAlarms
@_spi(Engine) internal import TimerCore

/// What is looked at under the lock, in portions.
extension ServiceState {
    /// How far the caretaker has come.
    struct Care {
        /// Whether the service's thread is the alarm's own. On a host's loop or queue a silent alarm may only wait for the
        /// host.
        let hasOwnThread: Bool
        /// How many timers are still to be looked at until all have been.
        var position = 0
        /// The instant that the alarm was due at when it was last looked at, and for how many looks it has been that.
        var overdue: UInt64?
        var silentLooks = 0
    }

    /// What was found among some timers, to be released and told outside the lock.
    struct Found {
        /// Held for a moment: each may be the last reference to its target.
        var targets: [AnyObject] = []
        var ended = Ended()
    }

    /// Ends the timers whose target is gone, among so many from where the last look ended.
    mutating func findDeadTargets(among count: Int) -> Found {
        var found = Found()
        for _ in 0..<min(count, scheduler.count) {
            care.position = (care.position > 0 ? min(care.position, scheduler.count) : scheduler.count) - 1
            let record = TimerRecord.of(scheduler[care.position])
            if let target = record.target {
                found.targets.append(target)
            } else if end(record, record.endingIfTargetIsGone) == true {
                found.ended.records.append(record)
            }
            if scheduler.count == 0 { break }
        }
        found.ended.service = takeServiceIfIdle()
        return found
    }

    /// Whether the alarm is silent: due at one and the same instant for five seconds, while no firing goes on.
    mutating func listen() -> Failure? {
        guard care.hasOwnThread, let alarm, let overdue = scheduler.overdue(at: alarm.now.nanoseconds) else {
            care.overdue = nil
            return nil
        }
        care.silentLooks = overdue == care.overdue ? care.silentLooks + 1 : 0
        care.overdue = overdue
        guard care.silentLooks >= 5 else { return nil }
        return Failure(error: TimerError(.backendFailed, "waiting for an alarm that did not fire for 5 s"), run: run)
    }

    /// Whether there are timers to look after.
    mutating func goesOnCaring() -> Bool {
        isCaredFor = scheduler.count > 0
        return isCaredFor
    }

    /// What is known of some timers, below a position; from the last to the first nobody is missed, and some may be seen
    /// twice. The targets are held for a moment: each may be the last reference.
    func see(_ count: Int, below position: Int) -> [(TimerRecord, TimerService.Snapshot, target: AnyObject?)] {
        let end = min(position, scheduler.count)
        return (max(0, end - count)..<end).reversed()
            .map { position in
                let record = TimerRecord.of(scheduler[position])
                let target = record.target
                return (record, TimerService.Snapshot(record, clock, isTargetAlive: target != nil), target)
            }
    }
}
