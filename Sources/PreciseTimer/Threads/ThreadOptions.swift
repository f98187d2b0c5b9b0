internal import TimerAlarms
internal import TimerKernel

extension TimerService {
    /// The options of a service's thread. The default is an ordinary thread whose sleeps have no timer slack, and which
    /// asks for the shortest slice.
    ///
    /// The system may refuse any of these; ``TimerService/grant`` shows which were granted. Threads that a handler
    /// creates do not inherit a real-time policy.
    public struct ThreadOptions: Equatable, Sendable, CustomStringConvertible {
        /// The scheduling policy: see sched(7).
        @nonexhaustive public enum Policy: Equatable, Sendable, CustomStringConvertible {
            /// The policy of the main thread, or the ordinary one if that is a real-time policy, as in a program that
            /// chrt(1) has started. The grant then says so.
            case normal
            /// Runs before all ordinary threads, and until it sleeps (SCHED_FIFO). Priority 1 to 99, the highest.
            case fifo(priority: Int)
            /// The same, but takes turns with threads of its priority (SCHED_RR).
            case roundRobin(priority: Int)
            /// Gets the runtime in each period, before the deadline (SCHED_DEADLINE). The kernel demands runtime ≤
            /// deadline ≤ period and a runtime of at least 1024 ns, and refuses an affinity with it.
            case deadline(runtime: Duration, deadline: Duration, period: Duration)

            /// The policy and its numbers, as in `fifo:80`.
            public var description: String {
                switch self {
                case .normal: "normal"
                case .fifo(let priority): "fifo:\(priority)"
                case .roundRobin(let priority): "rr:\(priority)"
                case .deadline(let runtime, let deadline, let period):
                    "deadline:\(runtime.text):\(deadline.text):\(period.text)"
                }
            }
        }

        /// What happens if the system refuses an option.
        @nonexhaustive public enum Demand: Hashable, Sendable {
            /// The service starts without it.
            case preferred
            /// The service does not start.
            case required
        }

        /// The scheduling policy.
        public var policy: Policy
        /// The processors that the thread may run on, by the kernel's numbers; empty for those of the main thread.
        /// So if the main thread has pinned itself to a processor, a service without an affinity shares that one with
        /// it. Threads that a handler creates inherit them. Ticks for queues and actors are sent with the main
        /// thread's.
        public var affinity: Set<Int>
        /// How late the kernel may end the thread's sleeps, to share wake-ups: at least 1 ns. It concerns sleeps inside
        /// handlers, and the waits of a run loop; timerfds have no slack, and neither do the sleeps of real-time
        /// threads. Nil for 1 ns if the service has its own thread; the kernel's default would be 50 µs.
        public var timerSlack: Duration?
        /// How long the thread may run before the kernel looks for another one, while its policy is ordinary: 100 µs to
        /// 100 ms, in whole microseconds, or zero for the kernel's own slice of some milliseconds. With a shorter slice
        /// the thread gets a processor sooner after it wakes up among busy threads. Its share of the processor stays
        /// the same. Nil for 100 µs if the service has its own thread. Needs Linux 6.12, and no rights. See
        /// sched_setattr(2) and the kernel's `Documentation/scheduler/sched-eevdf.rst`.
        public var slice: Duration?
        /// Whether all memory of the process is locked into RAM as it is touched (mlockall(2) with MCL_ONFAULT). It
        /// stays locked when the service ends. It counts against `ulimit -l`: if that is not unlimited, later
        /// allocations and threads of the process may fail.
        public var locksMemory: Bool
        /// The longest time that a processor may take to leave an idle state, for the whole machine while the service
        /// runs; in whole microseconds. Nil for the system's choice. Zero costs power: processors do not rest. A forked
        /// child that goes on without exec(3) holds it, too.
        public var idleLatency: Duration?
        /// The thread's name in `top -H`, gdb and perf, 1 to 15 bytes of UTF-8 without NUL; nil for that of the
        /// backend, as `timer.timerfd`. Threads that a handler creates inherit it. Dispatch's threads have names of
        /// their own, so there the grant lists it as refused.
        public var name: String?
        /// What happens if the system refuses an option.
        public var demand: Demand

        /// Options for a service's thread.
        ///
        /// - Parameters:
        ///   - policy: the scheduling policy.
        ///   - affinity: the processors that the thread may run on; empty for those of the main thread.
        ///   - timerSlack: how late the kernel may end the thread's sleeps; nil for 1 ns.
        ///   - slice: how long the thread runs before the kernel looks for another one; nil for 100 µs, zero for the
        ///     kernel's own.
        ///   - locksMemory: whether the process's memory is locked into RAM.
        ///   - idleLatency: the longest time to leave an idle state; nil for the system's choice.
        ///   - name: the thread's name, of at most 15 bytes; nil for that of the backend.
        ///   - demand: what happens if the system refuses one of them.
        public init(
            policy: Policy = .normal,
            affinity: Set<Int> = [],
            timerSlack: Duration? = nil,
            slice: Duration? = nil,
            locksMemory: Bool = false,
            idleLatency: Duration? = nil,
            name: String? = nil,
            demand: Demand = .preferred
        ) {
            self.policy = policy
            self.affinity = affinity
            self.timerSlack = timerSlack
            self.slice = slice
            self.locksMemory = locksMemory
            self.idleLatency = idleLatency
            self.name = name
            self.demand = demand
        }

        /// Options for a real-time thread: the policy ``Policy/fifo(priority:)``.
        public static func realTime(priority: Int) -> ThreadOptions { ThreadOptions(policy: .fifo(priority: priority)) }

        /// The options that are set, as in `fifo:80, processors 2, 3, idle latency 0 s`.
        public var description: String {
            let processors = affinity.sorted().map(String.init).joined(separator: ", ")
            let options = [
                "\(policy)", affinity.isEmpty ? nil : "processors \(processors)",
                timerSlack.map { "timer slack \($0.text)" }, slice.map { "slice \($0.text)" },
                locksMemory ? "locked memory" : nil,
                idleLatency.map { "idle latency \($0.text)" }, name.map { "name \($0)" },
                demand == .required ? "required" : nil,
            ]
            return options.compactMap(\.self).joined(separator: ", ").onOneLine
        }

        /// Asks for these options for the calling thread and its process. For the thread that runs a loop to which a
        /// service is attached, or for any other thread of yours. Threads that it creates later do not take over a
        /// real-time policy. The main thread's name is also the name of the process in `ps` and `top`.
        ///
        /// It does not ask for ``idleLatency``, which only a running service holds, and lists it as refused.
        ///
        /// - Returns: the granted options.
        /// - Throws: `TimerError` if an option is invalid, or is required and was refused; granted options stay.
        @discardableResult public func applyToCallingThread() throws(TimerError) -> ThreadGrant {
            try validate()
            let reason = "only a service holds it, while it runs"
            if demand == .required, idleLatency != nil {
                throw TimerError(.invalidOption, "requiring an idle latency for a thread (\(reason))")
            }
            let settings = settings(hasOwnThread: false)
            let setup = ThreadSetup(settings.filter { $0.name != ThreadGrant.Option.idleLatency.rawValue })
            setup.makeCallingThread()
            setup.makeProcess()
            let advice = RealTimeKernel.expiresTimersInThreads ? ThreadGrant.adviceForHosts : nil
            let grant = ThreadGrant(of: settings, from: setup, missingSince: reason, policyAdvice: advice)
            try check(grant)
            return grant
        }
    }
}

/// Checks thread options, and turns them into the kernel's settings.
extension TimerService.ThreadOptions {
    /// - Throws: `TimerError` if a value is out of its range.
    func validate() throws(TimerError) {
        try policy.validate()
        if let wrong = affinity.first(where: { !(0..<Self.processors).contains($0) }) {
            throw TimerError(.invalidOption, "running on processor \(wrong) (0 to \(Self.processors - 1) are possible)")
        }
        if let timerSlack, timerSlack < .nanoseconds(1) {
            throw TimerError(.invalidOption, "a timer slack of \(timerSlack.text) (it must be at least 1 ns)")
        }
        if let slice, slice != .zero, !(Self.shortestSlice...Self.longestSlice ~= slice) {
            throw TimerError(.invalidOption, "a slice of \(slice.text) (100 µs to 100 ms, or 0 s, are possible)")
        }
        if let idleLatency, idleLatency < .zero || idleLatency > .seconds(2000) {
            throw TimerError(.invalidOption, "an idle latency of \(idleLatency.text) (0 s to 2000 s are possible)")
        }
        if let name, !(1...15).contains(name.utf8.count) || name.utf8.contains(0) {
            throw TimerError(.invalidOption, "naming a thread \"\(name)\" (1 to 15 bytes without NUL are possible)")
        }
    }

    /// - Throws: the first refusal, with its advice, if the options are required.
    func check(_ grant: TimerService.ThreadGrant) throws(TimerError) {
        guard demand == .required, let refused = grant.refusals.first, let refusal = refused.refusal else { return }
        let attempted = [refusal.attempted, refused.advice].compactMap(\.self).joined(separator: "; ")
        throw TimerError(refusal.code, attempted, errno: refusal.errno, systemMessage: refusal.systemMessage)
    }

    /// The kernel's settings, in the order in which they are made.
    func settings(hasOwnThread: Bool) -> [ThreadSetting] {
        var settings: [ThreadSetting] = []
        if let name { settings.append(.name(name)) }
        if let slack = timerSlack ?? (hasOwnThread ? .nanoseconds(1) : nil) {
            settings.append(.timerSlack(slack.nanosecondsOrForever).asDefault(timerSlack == nil))
        }
        // Before the policy, which may be refused. A real-time policy makes it ineffective.
        if let slice = slice ?? (hasOwnThread ? Self.shortestSlice : nil), slice != .zero {
            let setting = ThreadSetting.slice(microseconds: UInt64(slice / .microseconds(1)))
            settings.append(setting.asDefault(self.slice == nil))
        }
        if !affinity.isEmpty { settings.append(.affinity(affinity)) }
        if let policy = policy.setting { settings.append(policy) }
        if locksMemory { settings.append(.lockedMemory) }
        // Rounded down: no state that is slower than asked for.
        if let idleLatency { settings.append(.idleLatency(microseconds: Int32(idleLatency / .microseconds(1)))) }
        return settings
    }

    // The bounds of sched_setattr(2).
    private static let shortestSlice = Duration.microseconds(100)
    private static let longestSlice = Duration.milliseconds(100)
    /// The kernel's mask of processors is never larger.
    private static let processors = 65_536
}

extension TimerService.ThreadOptions.Policy {
    fileprivate func validate() throws(TimerError) {
        switch self {
        case .normal: break
        case .fifo(let priority), .roundRobin(let priority):
            if (1...99).contains(priority) { break }
            throw TimerError(.invalidOption, "a real-time priority of \(priority) (1 to 99 are possible)")
        case .deadline(let runtime, let deadline, let period):
            if runtime > .zero, runtime <= deadline, deadline <= period, period <= .seconds(4) { break }
            let asked = "a runtime of \(runtime.text), a deadline of \(deadline.text) and a period of \(period.text)"
            throw TimerError(.invalidOption, "\(asked) (0 < runtime ≤ deadline ≤ period ≤ 4 s must hold)")
        }
    }

    fileprivate var setting: ThreadSetting? {
        switch self {
        case .normal: nil
        case .fifo(let priority): .fifo(priority)
        case .roundRobin(let priority): .roundRobin(priority)
        case .deadline(let runtime, let deadline, let period):
            .deadline(
                runtime: runtime.nanosecondsOrForever,
                deadline: deadline.nanosecondsOrForever,
                period: period.nanosecondsOrForever
            )
        }
    }
}
