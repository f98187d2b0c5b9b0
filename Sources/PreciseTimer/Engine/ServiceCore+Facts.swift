internal import TimerAlarms
internal import TimerKernel

/// What a service and its timers tell about themselves.
extension ServiceCore {
    /// The time on the service's clock.
    var now: TimerInstant { nowOfAlarm ?? clock.now }

    /// The time on the clock of a running alarm.
    var nowOfAlarm: TimerInstant? { alarm?.now }

    /// The alarm of a running service.
    var alarm: (any TimerAlarm)? { locked(inForkedChild: nil) { $0.alarm } }

    /// How many timers have not ended.
    var pendingCount: Int { locked { $0.scheduler.count } }

    /// When the earliest timer is due for a look. O(n log n) if n timers were postponed, so for virtual time only.
    var nextLook: TimerInstant? {
        let next = locked { state in
            state.scheduler.settle(atMost: .max)
            return state.scheduler.nextLook
        }
        return next.map { TimerInstant(nanoseconds: $0, clock: clock) }
    }

    /// A timer's name.
    func label(of record: Record) -> String? { locked(inForkedChild: nil) { _ in record.label } }

    /// The next deadline of a timer that has not ended.
    func nextDeadline(of record: Record) -> TimerInstant? {
        let next = locked(inForkedChild: .max) { _ in record.hasEnded ? .max : record.knownDeadline }
        return TimerInstant(nanoseconds: next, clock: clock).unlessNever
    }

    /// The time to the next deadline of a timer that has not ended.
    func remaining(of record: Record) -> Duration? {
        let time = locked(inForkedChild: nil) { state in
            record.hasEnded ? nil : state.now.flatMap { record.remaining(at: $0.nanoseconds) }
        }
        return time.map(Duration.init(wholeNanoseconds:))
    }

    /// The period of a timer that has not ended.
    func period(of record: Record) -> Duration? {
        locked(inForkedChild: nil) { _ in record.hasEnded ? nil : record.nominalPeriod }
    }

    /// Whether a timer has ended after its last deadline, or not yet.
    func isCompletedOrGoesOn(_ record: Record) -> Bool {
        locked(inForkedChild: false) { _ in record.ending == .completed || !record.hasEnded }
    }

    /// Whether a handler of a timer is running that the caller is not inside of.
    func runsHandler(of record: Record) -> Bool {
        locked(inForkedChild: false) { _ in record.user.runner != .nobody && !record.user.runner.isCaller }
    }

    /// Whether the running handler of a timer can return only on the executor that the caller occupies.
    func handlerNeedsCaller(of record: Record) -> Bool {
        let destination = locked(inForkedChild: .inline) { _ in record.user.destination }
        guard case .task(let tasks) = destination, let actor = tasks.actor(for: record) else { return false }
        return CurrentExecutor.isOf(actor)
    }

    /// Whether the last tick of a timer that was finished has not come to its handler.
    func awaitsLastTick(_ record: Record) -> Bool {
        locked(inForkedChild: false) { _ in
            record.isFinishing && record.endReason == nil && record.user.runner == .nobody
        }
    }

    /// The timers whose handlers are running.
    var runningTimers: [Record] {
        var records: [Record] = []
        records.reserveCapacity(locked(inForkedChild: 0) { $0.scheduler.runningCount })
        eachRunningTimer { records.append($0) }
        return records
    }

    /// When the timer's running handler was called; nil if it does not run.
    func runningSince(_ record: Record) -> TimerInstant? {
        locked(inForkedChild: nil) { $0.scheduler.runningSince(record) }
            .map { TimerInstant(nanoseconds: $0, clock: clock) }
    }

    /// The latest call of the timer's handler that has returned.
    func lastRun(of record: Record) -> PreciseTimer.HandlerRun? { locked(inForkedChild: nil) { _ in record.lastRun } }

    /// A timer's name, and the place that scheduled it.
    func name(of record: Record) -> String {
        let (file, line) = record.callSite
        return "\(label(of: record).map { "timer \"\($0)\"" } ?? "timer") (\(file):\(line))".onOneLine
    }

    /// A timer's name, place, state and schedule.
    func description(of record: Record) -> String {
        let (state, period) = locked(inForkedChild: (nil, nil)) { _ in
            (
                record.endReason.map(PreciseTimer.State.ended) ?? (record.isPaused ? .paused : .scheduled),
                record.endReason == nil ? record.nominalPeriod : nil
            )
        }
        let facts = [state.map { "\($0)" } ?? "of the parent process", period.map { "every \($0.text)" }]
        return "\(name(of: record)): " + facts.compactMap(\.self).joined(separator: ", ")
    }

    /// The state of a timer. A released target is an end, also before the service finds it.
    func currentState(of record: Record) -> PreciseTimer.State {
        if lock.isOfAnotherProcess { return .ended(.backendFailed(.inForkedChild("reading a timer"))) }
        let (reason, isPaused) = locked { _ in (record.endReason, record.isPaused) }
        if let reason { return .ended(reason) }
        // Only the target is promoted here, never the handler's captures: `cancel()` must be the one to
        // release those.
        if record.user.target != nil { return isPaused ? .paused : .scheduled }
        return locked { _ in
            if !record.hasEnded { record.becomeOrphan() }
            return .ended(record.endReason ?? .targetReleased)
        }
    }

    /// What a caller wants to know of each timer that has not ended, read in portions, so that other threads get the
    /// lock in between. Ends after a portion that has brought the number to `limit`.
    func survey<Facts>(atLeast limit: Int = .max, _ facts: (Sight) -> Facts) -> [Facts] {
        var (found, seen) = ([Facts](), Set<ObjectIdentifier>())
        var position = locked(inForkedChild: 0) { $0.scheduler.count }
        // Held to the end: an `ObjectIdentifier` is unique only while its object lives.
        var records: [Record] = []
        while position > 0, found.count < limit {
            let sights = locked { $0.see(Scheduler<UserSide>.portion, below: position, facts) }
            position -= Scheduler<UserSide>.portion
            for (sight, facts) in sights where seen.insert(ObjectIdentifier(sight.record)).inserted {
                records.append(sight.record)
                found.append(facts)
            }
        }
        return found
    }
}

extension TimerInstant {
    /// The instant; nil if it is never.
    var unlessNever: TimerInstant? { isNever ? nil : self }
}
