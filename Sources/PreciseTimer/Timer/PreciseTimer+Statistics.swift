internal import TimerKernel

extension PreciseTimer {
    /// What the ticks of a timer or a service were like since it began to collect statistics. A plain value.
    ///
    /// ```swift
    /// service.collectsStatistics = true
    /// …
    /// if let statistics = service.statistics { print(statistics) }
    /// // 1200 ticks, 3 missed; 99 % at most 87 µs late; handlers 99 % at most 12 µs; longest stall 4.1 ms
    /// ```
    ///
    /// The values of several timers, services or processes can be merged, and those of two moments subtracted.
    public struct Statistics: Equatable, Codable, Sendable, CustomStringConvertible {
        /// The longest time for which a deadline waited for its tick.
        public struct Stall: Equatable, Codable, Sendable, CustomStringConvertible {
            /// The lateness of the tick.
            public let length: Duration
            /// Its deadline.
            public let deadline: TimerInstant

            init(length: Duration, deadline: TimerInstant) { (self.length, self.deadline) = (length, deadline) }

            /// Decodes a stall.
            ///
            /// - Throws: `DecodingError` if its length is negative, or longer than an instant can be late.
            public init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                length = try container.decode(Duration.self, forKey: .length)
                deadline = try container.decode(TimerInstant.self, forKey: .deadline)
                guard length >= .zero, deadline.duration(to: deadline.advanced(by: length)) == length else {
                    throw DecodingError.impossible("stall", in: decoder)
                }
            }

            /// The stall, as in `4.1 ms since 1500000000 ns (suspending)`.
            public var description: String { "\(length.shortText) since \(deadline)" }
        }

        /// How many deadlines got no tick, because another tick stood for them.
        public private(set) var missed: Int
        /// How many ticks were for a deadline that came due because the clock was set, or because the machine was
        /// suspended while the clock went on. They were not late: they count in ``ticks``, and not in any lateness.
        public private(set) var afterStep: Int
        /// How late the other ticks were.
        public private(set) var lateness: Histogram
        /// How long the handlers ran: from the tick's ``Tick/delivered`` until the handler has returned and its thread
        /// has the service's lock, usually a fraction of a microsecond later. Ticks that a task awaits have no handler.
        /// The time of a handler is unknown if the clock is set while it runs, or if it shuts its service down.
        public private(set) var handlerTime: Histogram
        /// The longest stall; nil if no tick has a lateness.
        public private(set) var longestStall: Stall?

        /// How many ticks were delivered.
        public var ticks: Int { lateness.count.saturatingAdding(afterStep) }
        /// Half of the ticks were at most so late; nil if there was no tick. See ``Histogram/percentile(_:)``.
        public var p50: Duration? { lateness.percentile(0.5) }
        /// 99 % of the ticks were at most so late; nil if there was no tick.
        public var p99: Duration? { lateness.percentile(0.99) }

        /// One line, as in `1200 ticks, 3 missed; 99 % at most 87 µs late; handlers 99 % at most 12 µs`.
        public var description: String {
            let late = p99.map { "99 % at most \($0.shortText) late" }
            let handlers = handlerTime.percentile(0.99).map { "handlers 99 % at most \($0.shortText)" }
            let stall = longestStall.map { "longest stall \($0.length.shortText)" }
            let steps = afterStep > 0 ? ", \(afterStep) after a step of the clock" : ""
            let counts = "\(counted(ticks, "tick")), \(missed) missed\(steps)"
            return [counts, late, handlers, stall].compactMap(\.self).joined(separator: "; ")
        }

        init(_ numbers: TickCounts.Numbers, _ clock: TimerClock) {
            missed = Int(clamping: numbers.missed)
            afterStep = Int(clamping: numbers.afterStep)
            lateness = Histogram(numbers.lateness)
            handlerTime = Histogram(numbers.handlerTime)
            let deadline = TimerInstant(nanoseconds: numbers.longestSince, clock: clock)
            longestStall = lateness.longest.map { Stall(length: $0, deadline: deadline) }
        }

        /// Decodes statistics, if ticks can have made them. Earlier versions wrote no ``afterStep``: their steps are in
        /// the lateness.
        ///
        /// - Throws: `DecodingError` if a number is negative, or contradicts another.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            missed = try container.decode(Int.self, forKey: .missed)
            afterStep = try container.decodeIfPresent(Int.self, forKey: .afterStep) ?? 0
            lateness = try container.decode(Histogram.self, forKey: .lateness)
            handlerTime = try container.decode(Histogram.self, forKey: .handlerTime)
            longestStall = try container.decodeIfPresent(Stall.self, forKey: .longestStall)
            guard missed >= 0, afterStep >= 0, !hasAlienStall else {
                throw DecodingError.impossible("set of statistics", in: decoder)
            }
        }

        /// Whether no lateness is as long as the stall.
        private var hasAlienStall: Bool {
            guard let longestStall else { return false }
            return lateness.longest.map { longestStall.length > $0 } ?? true
        }

        /// Adds other statistics. Of two stalls of the same length, this value's own remains. O(n) for n buckets.
        public mutating func merge(_ other: Statistics) {
            missed = missed.saturatingAdding(other.missed)
            afterStep = afterStep.saturatingAdding(other.afterStep)
            lateness.merge(other.lateness)
            handlerTime.merge(other.handlerTime)
            if let stall = other.longestStall, stall.length > longestStall?.length ?? .zero - .nanoseconds(1) {
                longestStall = stall
            }
        }

        /// The statistics of the time between two readings: this reading, minus an earlier one of the same timer or
        /// service. If the longest stall was before that reading, the result has no stall. If these statistics have
        /// fewer ticks than the earlier reading, collecting was turned off and on in between: the result is these
        /// statistics. If they have caught up since, this goes unnoticed, and the result is meaningless. O(n) for n
        /// buckets.
        public func since(_ earlier: Statistics) -> Statistics {
            if ticks < earlier.ticks { return self }
            var rest = self
            rest.missed -= min(missed, earlier.missed)
            rest.afterStep -= min(afterStep, earlier.afterStep)
            rest.lateness = lateness.since(earlier.lateness)
            rest.handlerTime = handlerTime.since(earlier.handlerTime)
            // An earlier reading of another timer may leave no lateness that is as long as the stall.
            if longestStall == earlier.longestStall || rest.hasAlienStall { rest.longestStall = nil }
            return rest
        }
    }

    /// Whether the timer collects ``statistics``; at first it does not. They begin at zero when this becomes true, and
    /// take 8 KB until it becomes false or the timer and its handle are gone. A timer that has ended cannot begin.
    public var collectsStatistics: Bool {
        get { core.collectsStatistics(of: record) }
        set { core.collectStatistics(newValue, of: record) }
    }

    /// The statistics so far, also after the timer has ended; nil if they are not collected. From any thread; copies 8
    /// KB under the service's lock.
    public var statistics: Statistics? { core.statistics(of: record).map { Statistics($0, core.clock) } }
}

extension TimerService {
    /// Whether the service collects ``statistics`` of all its timers; at first it does not. They begin at zero when
    /// this becomes true, and take 8 KB until it becomes false. A shared service has one such switch for all code in
    /// the process: do not turn it off there.
    public var collectsStatistics: Bool {
        get { core.collectsStatistics(of: nil) }
        set { core.collectStatistics(newValue, of: nil) }
    }

    /// The statistics so far, of timers that have ended, too; nil if they are not collected. From any thread; copies 8
    /// KB under the service's lock.
    public var statistics: PreciseTimer.Statistics? {
        core.statistics(of: nil).map { PreciseTimer.Statistics($0, core.clock) }
    }
}

extension ServiceCore {
    /// Whether the statistics of a timer, or of the service, are collected.
    fileprivate func collectsStatistics(of record: Record?) -> Bool {
        locked(inForkedChild: false) { $0.counts(of: record) != nil }
    }

    /// The numbers of a timer's or the service's statistics, which are all that is copied under the lock; nil if they
    /// are not collected.
    fileprivate func statistics(of record: Record?) -> TickCounts.Numbers? {
        locked(inForkedChild: nil) { $0.counts(of: record)?.numbers }
    }
}
