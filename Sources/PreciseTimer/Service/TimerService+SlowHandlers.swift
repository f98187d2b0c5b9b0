internal import TimerKernel

extension TimerService {
    /// A call in your code that scheduled timers, and whose handler was slow. A plain value.
    public struct SlowHandler: Equatable, Sendable, CustomStringConvertible {
        /// The timer's name.
        public let label: String?
        /// The file of the call that scheduled it.
        public let file: String
        /// The line of that call.
        public let line: UInt
        /// What the slowest call exceeded: the timer's period, or the 5 ms of an inline handler.
        public let period: Duration
        /// How long the slowest call ran.
        public let longest: Duration
        /// How many calls were slow.
        public let count: Int

        /// The facts, as in `"clock" (App/Clock.swift:12): 3 calls longer than 1 ms, the longest 3.2 ms`.
        public var description: String {
            let name = label.map { "\"\($0)\" " } ?? ""
            let facts = "\(counted(count, "call")) longer than \(period.text), the longest \(longest.text)"
            return "\(name)(\(file):\(line)): \(facts)".onOneLine
        }
    }

    /// The first 16 call sites whose handlers were slow, in the order in which they were found. A handler is slow if it
    /// ran for longer than its timer's period. An inline handler is slow, too, if it ran for longer than 5 ms on a
    /// service with other timers, which wait for it.
    ///
    /// A service notes them from the moment that it, or one of its timers, collects statistics; a debug build always.
    /// Otherwise no handler is timed. A handler that is still running, also one that awaits, is listed in every build,
    /// as soon as it has run for longer than its period.
    ///
    /// The time of a handler is that of ``PreciseTimer/Statistics/handlerTime``, and includes the time for which the
    /// machine did not run its thread. For a handler that awaits, it includes the waiting. Only `.every` and
    /// `.rate` have a period; if the handler rescheduled its timer, the new period counts. A debug build
    /// also reports a call site on standard error, at its third slow call, and at most 16 of them in a process. From
    /// any thread, in constant time.
    public var slowHandlers: [SlowHandler] {
        core.slowSites.map { slow in
            SlowHandler(
                label: slow.label,
                file: slow.site.file,
                line: UInt(slow.site.line),
                period: Duration(wholeNanoseconds: slow.period),
                longest: Duration(wholeNanoseconds: slow.longest),
                count: Int(clamping: slow.count)
            )
        }
    }

    /// Ends the look for slow handlers that a debug build begins, for a service whose handlers are slow on purpose.
    package func ignoreSlowHandlers() { core.locked(inForkedChild: ()) { $0.observer = nil } }
}

extension ServiceCore {
    /// The call sites whose handlers were slow, and those whose handlers run at this moment for longer than their
    /// period. Of many that run, a batch is among them.
    fileprivate var slowSites: [SlowSite] {
        locked(inForkedChild: []) { state in
            var sites = state.observer?.slowSites ?? []
            let now = state.now?.nanoseconds ?? 0
            for position in 0..<min(state.scheduler.runningCount, Scheduler.batch) {
                let record = state.scheduler.running(at: position).record
                let time = now - min(now, state.scheduler.runningSince(record) ?? now)
                let period = record.timing.leastPeriod
                if time > period { sites.note(SlowSite(record, time, over: period)) }
            }
            return sites
        }
    }
}
