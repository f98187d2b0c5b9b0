@_spi(Engine) internal import TimerCore

extension TimerService {
    /// The facts of one timer at one moment. A plain value.
    public struct Snapshot: Hashable, Codable, Sendable {
        /// The timer's name.
        public let label: String?
        /// The file of the call that scheduled it.
        public let file: String
        /// The line of that call.
        public let line: UInt
        /// The deadline of the next tick; nil if no tick remains, if the timer rests until it is rescheduled, or if
        /// the running handler decides it.
        public let nextDeadline: TimerInstant?
        /// Whether its ticks are held back.
        public let isPaused: Bool
        /// Whether its target is alive. A timer whose target was released ends within seconds.
        public let isTargetAlive: Bool
        /// How many ticks it has had.
        public let ticks: UInt64
        /// How late the last tick was; nil if there was no tick yet.
        public let lastLateness: Duration?

        init(_ record: TimerRecord, _ clock: TimerClock, isTargetAlive: Bool) {
            label = record.label
            (file, line) = record.callSite
            nextDeadline = TimerInstant(nanoseconds: record.nextDeadline, clock: clock).unlessNever
            isPaused = record.isPaused
            self.isTargetAlive = isTargetAlive
            ticks = record.ticks
            lastLateness = record.latenessOfLastTick
        }
    }
}
