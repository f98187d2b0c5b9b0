extension PreciseTimer {
    /// The facts of one call to a handler. A plain value.
    public struct Tick: Hashable, Sendable {
        /// The number of this tick's deadline, from 0. It grows by 1 + ``missed`` from tick to tick.
        public let index: UInt64
        /// When the tick was due: the oldest deadline that had not had a tick.
        public let deadline: TimerInstant
        /// When the alarm's thread looked at the clock and found the tick due.
        public let woke: TimerInstant
        /// When the handler was called.
        public let delivered: TimerInstant
        /// How many later deadlines had passed as well and get no tick.
        public let missed: UInt64

        /// How long after its deadline the tick was delivered. Never negative.
        public var lateness: Duration { deadline.duration(to: delivered) }
        /// The part of ``lateness`` before the alarm's thread woke.
        public var wakeLateness: Duration { deadline.duration(to: woke) }
        /// The part of ``lateness`` between the wake-up and the handler.
        public var hopLateness: Duration { woke.duration(to: delivered) }
    }
}
