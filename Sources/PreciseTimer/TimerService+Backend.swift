public import TimerAlarms
public import TimerCore

/// Which mechanism a service runs on.
extension TimerService {
    /// The choice of an alarm. The raw value is the name on the command line.
    @nonexhaustive
    public enum Backend: String, CaseIterable, Codable, Sendable {
        /// A strict Dispatch timer source. A service on it starts only after a trial timer has fired: the call waits for
        /// that, a millisecond as a rule, and five seconds of silence are a `TimerError`.
        case dispatch
        /// The kernel's timerfd, read by a thread of the service's own.
        case timerFD = "timerfd"
        /// A timerfd in a libevent loop, on a thread of the service's own. Needs the package trait `Libevent`, which links
        /// libevent.
        case libevent
        /// A Foundation `Timer` on a run loop, on a thread of the service's own: what most code starts from. A few
        /// hundred bytes of each service stay allocated, because Foundation never frees a timer. Needs the package trait
        /// `RunLoop`, which links Foundation.
        case runLoop = "runloop"

        /// Whether a backend is part of this build.
        public enum Availability: Hashable, Sendable {
            /// It can be used.
            case available
            /// It cannot, for this reason.
            case unavailable(String)
        }

        /// Whether this backend is part of this build, and why not where it is not.
        public var availability: Availability {
            switch self {
            case .dispatch, .timerFD: .available
            case .libevent: LibeventBackend.whyUnavailable.map(Availability.unavailable) ?? .available
            case .runLoop: RunLoopBackend.whyUnavailable.map(Availability.unavailable) ?? .available
            }
        }

        /// The clocks on which this backend can wait.
        public var clocks: Set<TimerClock> {
            switch self {
            case .dispatch: DispatchAlarm.clocks
            case .timerFD, .libevent: Set(TimerClock.allCases)
            case .runLoop: [.suspending]
            }
        }

        /// A new alarm of this kind, not started.
        package func makeAlarm(clock: TimerClock = .suspending) throws(TimerError) -> any TimerAlarm {
            try check(clock)
            return switch self {
            case .dispatch: try DispatchAlarm(clock)
            case .timerFD: try TimerFDAlarm(clock)
            case .libevent: try LibeventBackend.makeAlarm(clock)
            case .runLoop: try RunLoopBackend.makeAlarm()
            }
        }

        /// - Throws: `TimerError` that names the backends that can, where this one cannot wait on a clock.
        func check(_ clock: TimerClock) throws(TimerError) {
            if clocks.contains(clock) { return }
            let able = Self.allCases.filter { $0.clocks.contains(clock) }.map(\.rawValue).joined(separator: ", ")
            let attempted = "waiting on the \(clock.rawValue) clock with \(rawValue)"
            throw TimerError(.unavailable, "\(attempted) (backends that can: \(able))")
        }
    }

    /// The shared service of the backend that is best on this system: timerfd.
    public static var `default`: TimerService { timerFD }
    /// The shared service on Dispatch.
    public static let dispatch = TimerService(shared: .dispatch)
    /// The shared service on timerfd.
    public static let timerFD = TimerService(shared: .timerFD)
    /// The shared service on libevent.
    public static let libevent = TimerService(shared: .libevent)
    /// The shared service on a run loop of its own thread.
    public static let runLoop = TimerService(shared: .runLoop)

    /// Starts a service of one's own on a backend.
    ///
    /// - Parameters:
    ///   - backend: the mechanism.
    ///   - clock: the clock that its deadlines are instants of; one of the backend's ``Backend/clocks``.
    /// - Throws: `TimerError` where the backend is not part of this build or cannot wait on that clock, or the system
    ///   refuses a thread or descriptor.
    public convenience init(_ backend: Backend, clock: TimerClock = .suspending) throws(TimerError) {
        try self.init(ServiceState(own: backend.makeAlarm(clock: clock), hasOwnThread: true))
        try core.start()
    }

    /// Starts a service of one's own on any mechanism that keeps the alarm contract.
    ///
    /// - Parameter alarm: a new alarm, which the service starts, sets and stops from now on.
    /// - Throws: what the alarm's `start` throws.
    public convenience init(alarm: any TimerAlarm) throws(TimerError) {
        self.init(ServiceState(own: alarm, hasOwnThread: false))
        try core.start()
    }

    /// A service that no thread looks after: its owner calls ``endTimersOfDeadTargets()`` now and then.
    package convenience init(unattended alarm: any TimerAlarm) throws(TimerError) {
        var state = ServiceState(own: alarm, hasOwnThread: false)
        state.isCaredFor = true
        self.init(state)
        try core.start()
    }

    /// A service that the next timer starts, and starts again after a shutdown, on an alarm made by this.
    package convenience init(startedOnUse makeAlarm: @escaping @Sendable () throws(TimerError) -> any TimerAlarm) {
        self.init(ServiceState(startedOnUse: makeAlarm))
    }

    private convenience init(shared backend: Backend) {
        self.init(startedOnUse: { () throws(TimerError) in try backend.makeAlarm() })
    }
}
