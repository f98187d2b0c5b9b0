internal import TimerKernel

extension PreciseTimer {
    /// One call of a timer's handler. A plain value.
    public struct HandlerRun: Equatable, Codable, Sendable {
        /// When the handler was called.
        public let start: TimerInstant
        /// How long it ran. For a handler that awaits, this includes the waiting. If the wall clock is set while it
        /// runs, the length includes the step.
        public let duration: Duration
        /// The description of the error that it threw, also if `onError` handled it; nil if it threw no error.
        public let error: String?

        init(start: TimerInstant, end: TimerInstant, error: String? = nil) {
            self.start = start
            // A wall clock may have been set back.
            duration = start.duration(to: max(start, end))
            self.error = error
        }

        /// Decodes a run.
        ///
        /// - Throws: `DecodingError` if its duration is negative, or longer than the clock has instants.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            start = try container.decode(TimerInstant.self, forKey: .start)
            duration = try container.decode(Duration.self, forKey: .duration)
            error = try container.decodeIfPresent(String.self, forKey: .error)
            guard start.canBegin(duration) else { throw DecodingError.impossible("run of a handler", in: decoder) }
        }
    }

    /// The instant at which the running handler was called; nil if no handler runs. For an inline handler, the instant
    /// at which its service's thread woke for it, so the clock is not read again. From any thread, in constant time.
    public var runningSince: TimerInstant? {
        core.locked(inForkedChild: nil) { $0.scheduler.runningSince(record) }.flatMap(core.instant)
    }

    /// The latest call of the handler that has returned; nil if no call has. Only calls in a task (a handler that
    /// awaits, or is isolated to an actor) and calls of a timer that collects ``statistics`` are timed: other calls do
    /// not read the clock. From any thread, in constant time.
    public var lastRun: HandlerRun? { core.locked(inForkedChild: nil) { _ in record.lastRun } }
}
