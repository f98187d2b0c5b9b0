/// Why a timer or a service could not do what was asked of it.
public struct TimerError: Error, Hashable, Sendable {
    /// What kind of failure it is, for code that decides by it. More kinds may come.
    public struct Code: Hashable, Sendable {
        /// The kind's name, as in the description.
        public let name: String

        /// A kind of failure of one's own, by its name.
        public init(_ name: String) { self.name = name }

        /// A schedule that makes no sense: a negative delay, a period of zero or less.
        public static let invalidSchedule = Code("invalid schedule")
        /// A handler that cannot run where it would have to: one of the main actor with `deliver: .inline`.
        public static let invalidDelivery = Code("invalid delivery")
        /// The system refused a resource: a descriptor, a thread, memory.
        public static let systemRefused = Code("refused by the system")
        /// The backend is not part of this build, or cannot work in this process.
        public static let unavailable = Code("unavailable")
        /// The backend worked and then failed; its timers have ended.
        public static let backendFailed = Code("backend failed")
        /// The service was shut down.
        public static let shutDown = Code("shut down")
        /// The timer has ended.
        public static let timerEnded = Code("timer ended")
        /// The service belongs to the parent of this forked process.
        public static let forked = Code("in a forked child")
    }

    /// The kind of failure.
    public let code: Code
    /// What was being attempted, and what to do where that is known.
    public let attempted: String
    /// The system's error number, where the system gave one.
    public let errno: Int32?
    /// The system's words for ``errno``.
    public let systemMessage: String?

    /// An error; to be made by whoever writes an alarm, too.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - attempted: what was being attempted, as in `creating a timerfd`.
    ///   - errno: the system's error number, where the system gave one.
    ///   - systemMessage: the system's words for it.
    public init(_ code: Code, _ attempted: String, errno: Int32? = nil, systemMessage: String? = nil) {
        self.code = code
        self.attempted = attempted
        self.errno = errno
        self.systemMessage = systemMessage
    }
}

extension TimerError: CustomStringConvertible {
    /// One line: what was attempted, the kind, and the system's reason where there is one.
    public var description: String {
        var line = "\(attempted): \(code.name)"
        if let errno { line += " (errno \(errno): \(systemMessage ?? "unknown"))" }
        return line
    }
}
