extension PreciseTimer.Schedule {
    /// Deadlines that a function computes, each from the previous one, for times without a fixed period, such as those
    /// of a calendar.
    ///
    /// ```swift
    /// let start = service.now                                                      // 1, 2, 4, 8 s after the start
    /// let doubling = PreciseTimer.Schedule.computed("doubling") { instant in
    ///     instant.advanced(by: max(.seconds(1), start.duration(to: instant)))
    /// }
    /// ```
    ///
    /// The function is called without any lock: by the call that schedules the timer, with the current instant, and
    /// before each handler, on its thread, once for each deadline that has passed and once for the next one. On the
    /// wall clock it is also called again, on a thread of the library, after each step of the clock and about once a
    /// minute, and a changed answer replaces the deadline. Return quickly. Some limits:
    ///
    /// - One tick counts at most 10,000 missed deadlines, however many have passed.
    /// - After a step back, the deadlines that come again tick again, unless the clock is then at most a minute before
    ///   the latest deadline that had a tick.
    /// - ``PreciseTimer/reschedule(_:)`` accepts such a schedule only for a timer that began with one. It first asks
    ///   the function whether it has the deadline of the latest tick, too: if so, that one does not tick twice.
    ///
    /// Under ``PreciseTimer/MissedTickPolicy/delay``, late ticks are merged as under
    /// ``PreciseTimer/MissedTickPolicy/skip``: there is no grid that could be moved. Schedules are equal if they
    /// are copies of the same value.
    ///
    /// - Parameters:
    ///   - name: what messages and descriptions call it.
    ///   - clock: the clock of the deadlines; nil for the clock of any service.
    ///   - hint: what to do if the function has no deadline at all, for the error.
    ///   - next: the first deadline after an instant of the service's clock; nil if no deadline remains. An instant
    ///     that is not later, or is of another clock, counts as nil. The timer ends after its last deadline.
    /// - Returns: the schedule.
    public static func computed(
        _ name: String = "computed",
        on clock: TimerClock? = nil,
        hint: String = "let the function return an instant after the one that it gets, on the same clock",
        _ next: @escaping @Sendable (_ after: TimerInstant) -> TimerInstant?
    ) -> Self {
        Self(.never, .computed, rule: ScheduleRule({ name }, on: clock, hint: hint) { _, _ in (next, .max) })
    }
}
