/// Why a timer or a service could not do its work.
public struct TimerError: Error, Hashable, Sendable {
    /// A kind of failure, for code that decides by it. Later versions may add kinds.
    public struct Code: Hashable, Sendable {
        /// The kind's name, as in the description.
        public let name: String

        /// A kind of failure with a name of your own.
        public init(_ name: String) { self.name = name }

        /// The schedule is invalid, as with a negative delay, a period of zero, or an instant of another clock.
        public static let invalidSchedule = Code("invalid schedule")
        /// An option of a service is invalid, as a real-time priority of 0.
        public static let invalidOption = Code("invalid option")
        /// The system refused a resource: a descriptor, a thread or memory.
        public static let systemRefused = Code("refused by the system")
        /// The backend is not part of this build, or cannot work in this process.
        public static let unavailable = Code("unavailable")
        /// The backend worked and then failed; its timers have ended.
        public static let backendFailed = Code("backend failed")
        /// The service was shut down.
        public static let shutDown = Code("shut down")
        /// The timer has ended.
        public static let timerEnded = Code("timer ended")
        /// A handler had not returned when the time to wait for it was over.
        public static let handlerRunning = Code("a handler is still running")
        /// A last tick was not delivered when the time to wait for it was over: its service, queue or actor was busy.
        public static let lastTickPending = Code("the last tick has not come")
        /// The service belongs to the parent of this forked process.
        public static let forked = Code("in a forked child")
    }

    /// The kind of failure.
    public let code: Code
    /// The operation that failed and, if known, what to do about it.
    public let attempted: String
    /// The system's error number, if the system gave one.
    public let errno: Int32?
    /// The system's message for ``errno``.
    public let systemMessage: String?

    /// An error. Alarms of your own create it, too.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - attempted: The operation that failed, as in `creating a timerfd`.
    ///   - errno: The system's error number, if the system gave one.
    ///   - systemMessage: The system's message for `errno`.
    public init(_ code: Code, _ attempted: String, errno: Int32? = nil, systemMessage: String? = nil) {
        self.code = code
        self.attempted = attempted
        self.errno = errno
        self.systemMessage = systemMessage
    }
}

extension TimerError.Code: CustomStringConvertible {
    /// The name.
    public var description: String { name }
}

extension TimerError: CustomStringConvertible {
    /// One line: the operation that failed, the kind of failure and, if the system gave one, its reason.
    public var description: String {
        var line = "\(attempted): \(code.name)"
        if let errno { line += " (errno \(errno): \(systemMessage ?? "unknown"))" }
        return line.onOneLine
    }
}
