internal import TimerAlarms
internal import TimerCore

/// What the caretaker does under the lock, in portions.
extension ServiceState {
    /// How far the caretaker has come.
    struct Care {
        /// Whether the service's thread is the alarm's own. On a host's loop or queue a silent alarm may only wait for the
        /// host.
        let hasOwnThread: Bool
        /// The slot to look at next.
        var position = 0
        /// The instant that the alarm was due at when it was last looked at, and for how many looks it has been that.
        var overdue: TimerInstant?
        var silentLooks = 0
    }

    /// What was found among some slots, to be released and told outside the lock.
    struct Found {
        /// Held for a moment: each may be the last reference to its target.
        var targets: [any AnyObject & Sendable] = []
        var farewells: [Farewell] = []

        mutating func perform() {
            targets = []
            for position in farewells.indices { farewells[position].perform() }
        }
    }

    /// Ends the timers whose target is gone, among so many slots from where the last look ended.
    mutating func findDeadTargets(among count: Int) -> Found {
        var found = Found()
        if care.position >= scheduler.slotCapacity { care.position = 0 }
        let end = min(care.position + count, scheduler.slotCapacity)
        for position in care.position..<end {
            guard let entry = scheduler[Slot(position)], !entry.hasEnded else { continue }
            let record = record(of: entry.id)
            if let target = record.destination?.promotedTarget {
                found.targets.append(target)
            } else if let farewell = self.end(entry.id, record.reasonWhenTargetIsGone) {
                found.farewells.append(farewell)
            }
        }
        care.position = end
        return found
    }

    /// Whether the alarm is silent: due at one and the same instant for five seconds, while no firing goes on.
    mutating func listen() -> Failure? {
        guard care.hasOwnThread, let alarm, let overdue = scheduler.overdue(at: alarm.now) else {
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

    /// What is known of each timer that has not ended; with its target, which is released outside the lock. O(n).
    var snapshots: [(snapshot: TimerService.Snapshot, target: (any AnyObject & Sendable)?)] {
        scheduler.pending.map { entry in
            let record = record(of: entry.id)
            let target = record.destination?.promotedTarget
            let snapshot = TimerService.Snapshot(
                label: record.description.label,
                file: "\(record.description.file)",
                line: record.description.line,
                nextDeadline: entry.comingDeadline,
                isPaused: entry.isPaused,
                isTargetAlive: target != nil,
                ticks: record.ticks,
                lastLateness: record.lastLateness
            )
            return (snapshot, target)
        }
    }
}
