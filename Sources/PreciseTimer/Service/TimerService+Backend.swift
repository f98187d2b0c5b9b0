public import TimerAlarms
public import TimerKernel

/// Backends, and services that run on them.
extension TimerService {
    /// The choice of an alarm. The raw value is its name on the command line.
    @nonexhaustive public enum Backend: String, CaseIterable, Codable, Sendable, CustomStringConvertible {
        /// A strict Dispatch timer source. A service starts only after a trial timer has fired, which usually takes a
        /// millisecond. If the trial timer does not fire within five seconds, the call throws a `TimerError`.
        case dispatch
        /// The kernel's own timer, a timerfd, for which the service's thread sleeps.
        case timerFD = "timerfd"
        /// The kernel's timer, as ``timerFD``, in a libevent loop, on the service's own thread. Needs the package trait
        /// `Libevent`, which links libevent.
        case libevent
        /// A Foundation `Timer` on a run loop, on the service's own thread: the usual starting point of other code. A
        /// few hundred bytes per service stay allocated, because Foundation never frees a timer. Needs the package
        /// trait `RunLoop`, which links Foundation. A service does not start on a kernel without high-resolution timers
        /// (`highres=off`), because Foundation's timers stand still there.
        case runLoop = "runloop"
        /// The kernel's timer, as ``timerFD``, but the service's thread wakes some tens of microseconds early and reads
        /// the clock in a loop until the deadline has come. This takes the kernel's wake-up out of the lateness, for a
        /// price in processor time: see ``SpinOptions``.
        case hybrid

        /// The name on the command line.
        public var description: String { rawValue }

        /// Whether a backend is part of this build.
        public enum Availability: Equatable, Sendable {
            /// It can be used.
            case available
            /// It cannot be used, for this reason.
            case unavailable(String)
        }

        /// Whether this backend is part of this build, with the reason if it is not.
        public var availability: Availability {
            switch self {
            case .dispatch, .timerFD, .hybrid: .available
            case .libevent: LibeventBackend.whyUnavailable.map(Availability.unavailable) ?? .available
            case .runLoop: RunLoopBackend.whyUnavailable.map(Availability.unavailable) ?? .available
            }
        }

        /// The clocks on which this backend can wait.
        public var clocks: Set<TimerClock> {
            switch self {
            case .dispatch: DispatchAlarm.clocks
            case .timerFD, .libevent, .hybrid: Set(TimerClock.allCases)
            case .runLoop: [.suspending]
            }
        }

        /// Whether a service on this backend has its own thread. Dispatch's threads serve all queues of the process.
        var hasOwnThread: Bool { self != .dispatch }

        /// A new alarm of this backend, not started.
        package func makeAlarm(
            clock: TimerClock = .suspending,
            setup: ThreadSetup = ThreadSetup(),
            spin: SpinOptions = SpinOptions()
        ) throws(TimerError) -> any TimerAlarm {
            try check(clock)
            return switch self {
            case .dispatch: try DispatchAlarm(clock)
            case .timerFD: try TimerFDAlarm(clock, setup: setup)
            case .libevent: try LibeventBackend.makeAlarm(clock, setup)
            case .runLoop: try RunLoopBackend.makeAlarm(setup)
            case .hybrid: try TimerFDAlarm(clock, setup: setup, spinner: Spinner(spin.plan(within: setup.runtime)))
            }
        }

        /// - Throws: `TimerError` if this backend cannot wait on the clock; it names the backends that can.
        func check(_ clock: TimerClock) throws(TimerError) {
            if clocks.contains(clock) { return }
            let able = Self.allCases.filter { $0.clocks.contains(clock) }.map(\.rawValue).joined(separator: ", ")
            let attempted = "waiting on the \(clock.rawValue) clock with \(rawValue)"
            throw TimerError(.unavailable, "\(attempted) (backends that can: \(able))")
        }
    }

    /// The shared service on the best backend for this system: timerfd.
    public static var `default`: TimerService { timerFD }
    /// The shared service on Dispatch.
    public static let dispatch = TimerService(shared: .dispatch)
    /// The shared service on timerfd.
    public static let timerFD = TimerService(shared: .timerFD)
    /// The shared service on libevent.
    public static let libevent = TimerService(shared: .libevent)
    /// The shared service on a run loop, on its own thread.
    public static let runLoop = TimerService(shared: .runLoop)
    /// The shared service that sleeps and then spins, with the default ``SpinOptions``.
    public static let hybrid = TimerService(shared: .hybrid)

    /// The shared service of the wall clock, for calendars and for instants of ``TimerClock/wall``: on timerfd.
    public static let wall = TimerService(shared: .timerFD, clock: .wall)

    /// Starts your own service on a backend.
    ///
    /// - Parameters:
    ///   - backend: the mechanism.
    ///   - clock: the clock of its deadlines; one of the backend's ``Backend/clocks``.
    ///   - thread: the options of the service's thread; ``grant`` has their outcome.
    ///   - spin: how long and how often the thread may spin; only for ``Backend/hybrid``.
    /// - Throws: `TimerError` if the backend is not part of this build or cannot wait on that clock, if an option is
    ///   invalid, or if the system refuses a thread, a descriptor or a required option.
    public convenience init(
        _ backend: Backend,
        clock: TimerClock = .suspending,
        thread: ThreadOptions = ThreadOptions(),
        spin: SpinOptions? = nil
    ) throws(TimerError) {
        if spin != nil, backend != .hybrid {
            throw TimerError(.invalidOption, "spinning with \(backend.rawValue) (only hybrid spins)")
        }
        try spin?.validate()
        try thread.validate()
        if backend == .hybrid { try (spin ?? SpinOptions()).validate(against: thread.policy) }
        let setup = ThreadSetup(thread.settings(hasOwnThread: backend.hasOwnThread))
        let alarm = try backend.makeAlarm(clock: clock, setup: setup, spin: spin ?? SpinOptions())
        self.init(ServiceState(own: alarm, hasOwnThread: true), name: backend.rawValue, setup: setup)
        setup.makeProcess()
        try core.start()
        do throws(TimerError) { try thread.check(grant) } catch {
            shutdown()
            throw error
        }
    }

    /// Starts your own service on any mechanism that keeps the alarm contract.
    ///
    /// - Parameter alarm: a new alarm. From now on only the service starts, sets and stops it.
    /// - Throws: the error of the alarm's `start`.
    public convenience init(alarm: any TimerAlarm) throws(TimerError) {
        self.init(ServiceState(own: alarm, hasOwnThread: false), name: "\(type(of: alarm))")
        try core.start()
    }

    /// A service without the process's supervisor. Its owner calls ``endTimersOfDeadTargets()`` from time to time.
    ///
    /// - Parameters:
    ///   - alarm: a new alarm.
    ///   - seed: determines the random phases of its timers.
    /// - Throws: the error of the alarm's `start`.
    package convenience init(unsupervised alarm: any TimerAlarm, seed: UInt64) throws(TimerError) {
        var state = ServiceState(own: alarm, hasOwnThread: false)
        state.isSupervised = true
        state.scheduler.random = SeededGenerator(seed: seed)
        self.init(state, name: "\(type(of: alarm))")
        try core.start()
    }

    /// A service that the next timer starts, also after a shutdown, on an alarm that this closure makes.
    package convenience init(startedOnUse makeAlarm: @escaping @Sendable () throws(TimerError) -> any TimerAlarm) {
        self.init(ServiceState(startedOnUse: makeAlarm, on: .suspending), name: "own")
    }

    private convenience init(shared backend: Backend, clock: TimerClock = .suspending) {
        let setup = ThreadSetup(ThreadOptions().settings(hasOwnThread: backend.hasOwnThread))
        let makeAlarm = { @Sendable () throws(TimerError) in try backend.makeAlarm(clock: clock, setup: setup) }
        let state = ServiceState(startedOnUse: makeAlarm, on: clock)
        self.init(state, name: backend.rawValue, setup: setup, isShared: true)
    }
}
