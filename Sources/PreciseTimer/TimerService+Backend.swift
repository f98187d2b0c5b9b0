public import TimerAlarms

/// Which mechanism a service runs on.
extension TimerService {
    /// The choice of an alarm. The raw value is the name on the command line.
    @nonexhaustive
    public enum Backend: String, CaseIterable, Codable, Sendable {
        /// A strict Dispatch timer source. The first service on it in a process is started only after a trial timer has
        /// fired: the call waits for that, and ten seconds of silence are a `TimerError`.
        case dispatch
        /// The kernel's timerfd, read by a thread of the service's own.
        case timerFD = "timerfd"
        /// libevent with its precise clock, on a thread of the service's own.
        case libevent

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
            }
        }

        /// A new alarm of this kind, not started.
        package func makeAlarm() throws(TimerError) -> any TimerAlarm {
            switch self {
            case .dispatch: try DispatchAlarm()
            case .timerFD: try TimerFDAlarm()
            case .libevent: try LibeventBackend.makeAlarm()
            }
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

    /// Starts a service of one's own on a backend.
    ///
    /// - Throws: `TimerError` where the backend is not part of this build, or the system refuses a thread or descriptor.
    public convenience init(_ backend: Backend) throws(TimerError) {
        try self.init(alarm: backend.makeAlarm())
    }

    /// Starts a service of one's own on any mechanism that keeps the alarm contract.
    ///
    /// - Parameter alarm: a new alarm, which the service starts, sets and stops from now on.
    /// - Throws: what the alarm's `start` throws.
    public convenience init(alarm: any TimerAlarm) throws(TimerError) {
        self.init(ServiceState(own: alarm))
        try start()
    }

    /// A service that the next timer starts, and starts again after a shutdown, on an alarm made by this.
    package convenience init(startedOnUse makeAlarm: @escaping @Sendable () throws(TimerError) -> any TimerAlarm) {
        self.init(ServiceState(startedOnUse: makeAlarm))
    }

    private convenience init(shared backend: Backend) {
        self.init(startedOnUse: { () throws(TimerError) in try backend.makeAlarm() })
    }
}
