internal import TimerKernel
package import TimerStatistics

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
                guard deadline.canBegin(length) else { throw DecodingError.impossible("stall", in: decoder) }
            }

            /// The stall, as in `4.1 ms since 1500000000 ns (suspending)`.
            public var description: String { "\(length.shortText) since \(deadline)" }
        }

        /// The trend of the wake-ups: whether they become later and later.
        ///
        /// Deadlines themselves never drift. So a drift beyond its noise comes from the machine, whose wake-ups become
        /// later, or from the clock that an alarm of your own waits on.
        public struct Drift: Hashable, Codable, Sendable, CustomStringConvertible {
            /// Parts per million: so many µs later with each second.
            public let ppm: Double
            /// A smaller drift is not distinguishable from no drift: without a drift, ``ppm`` is beyond the noise, in
            /// either direction, in less than one of 100 intervals. Infinite if there are too few wake-ups to say.
            public let noise: Double

            /// The drift, as in `2 ± 28 ppm`, or `208.3 ± ? ppm` if the noise is not known.
            public var description: String {
                "\(Self.text(ppm, noise)) ± \(noise.isFinite ? Self.text(noise, noise) : "?") ppm"
            }

            package init(ppm: Double, noise: Double) { (self.ppm, self.noise) = (ppm, noise) }

            private enum CodingKeys: CodingKey { case ppm, noise }

            /// Decodes a drift. A missing noise is infinite, which not every coder can write.
            public init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                ppm = try container.decode(Double.self, forKey: .ppm)
                noise = try container.decodeIfPresent(Double.self, forKey: .noise) ?? .infinity
                guard ppm.isFinite, noise >= 0 else { throw DecodingError.impossible("drift", in: decoder) }
            }

            /// Encodes the drift; its noise only if that is known.
            public func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(ppm, forKey: .ppm)
                if noise.isFinite { try container.encode(noise, forKey: .noise) }
            }

            /// With one digit after the point if the noise is below 1, or not known.
            private static func text(_ number: Double, _ noise: Double) -> String {
                let scale = noise < 0.95 || !noise.isFinite ? 10.0 : 1
                // Adding zero turns a negative zero into a plain zero.
                let rounded = (number * scale).rounded() / scale + 0
                return scale == 1 ? Int64(exactly: rounded).map { "\($0)" } ?? "\(rounded)" : "\(rounded)"
            }
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
        /// The sums behind the drift; nil if these statistics are of more than one timer or service.
        private var wakeUps: Trend?

        /// How many ticks were delivered.
        public var ticks: Int { lateness.count.saturatingAdding(afterStep) }
        /// Half of the ticks were at most so late; nil if there was no tick. See ``Histogram/percentile(_:)``.
        public var p50: Duration? { lateness.percentile(0.5) }
        /// 99 % of the ticks were at most so late; nil if there was no tick.
        public var p99: Duration? { lateness.percentile(0.99) }
        /// The slope of a line through the latenesses of all wake-ups over time, fitted by least squares: for a service
        /// of its alarm, and for a timer of its own ticks. A tolerance, a hop to a queue and the handlers of other
        /// timers are not in it, nor is what a step of the clock made due.
        ///
        /// Nil for fewer than 48 wake-ups, and for merged statistics: two timers or services have two drifts. For fewer
        /// than 512, its noise is infinite. An interval of ``since(_:)`` begins with up to 15 wake-ups before the
        /// earlier reading.
        public var drift: Drift? { wakeUps?.line.map { Drift(ppm: $0.slope, noise: $0.noise) } }

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
            wakeUps = Trend(numbers.wakeUps)
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
            wakeUps = try container.decodeIfPresent(Trend.self, forKey: .wakeUps)
            guard missed >= 0, afterStep >= 0, !hasAlienStall else {
                throw DecodingError.impossible("set of statistics", in: decoder)
            }
        }

        /// Whether no lateness is as long as the stall.
        private var hasAlienStall: Bool {
            guard let longestStall else { return false }
            return lateness.longest.map { longestStall.length > $0 } ?? true
        }

        /// Adds other statistics. Of two stalls of the same length, this value's own remains. The sum has no drift,
        /// unless one of the two has no ticks. O(n) for n buckets.
        public mutating func merge(_ other: Statistics) {
            wakeUps = ticks == 0 ? other.wakeUps : other.ticks == 0 ? wakeUps : nil
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
            rest.wakeUps = earlier.wakeUps.flatMap { wakeUps?.since($0) }
            return rest
        }
    }

    /// Whether the timer collects ``statistics``; at first it does not. They begin at zero when this becomes true, and
    /// take 10 KB until it becomes false or the timer and its handle are gone. A timer that has ended cannot begin.
    public var collectsStatistics: Bool {
        get { core.collectsStatistics(of: record) }
        set { core.collectStatistics(newValue, of: record) }
    }

    /// The statistics so far, also after the timer has ended; nil if they are not collected. From any thread; copies 10
    /// KB under the service's lock.
    public var statistics: Statistics? { core.statistics(of: record).map { Statistics($0, core.clock) } }
}

extension Trend: Codable {
    // As texts: not every coder has integers of 128 bits.
    package init(from decoder: any Decoder) throws {
        let texts = try decoder.singleValueContainer().decode([String].self)
        let numbers = texts.compactMap { Int128($0) }
        guard numbers.count == texts.count, let trend = Trend(numbers) else {
            throw DecodingError.impossible("trend", in: decoder)
        }
        self = trend
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(numbers.map { "\($0)" })
    }
}

extension TimerService {
    /// Whether the service collects ``statistics`` of all its timers; at first it does not. They begin at zero when
    /// this becomes true, and take 10 KB until it becomes false. A shared service has one such switch for all code in
    /// the process: do not turn it off there.
    public var collectsStatistics: Bool {
        get { core.collectsStatistics(of: nil) }
        set { core.collectStatistics(newValue, of: nil) }
    }

    /// The statistics so far, of timers that have ended, too; nil if they are not collected. From any thread; copies 10
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
