/// What the kernel says of a thread of this process (proc_pid_stat(5)). A pure value.
package struct ThreadState: Hashable, Sendable {
    /// What the thread does.
    package enum Activity: Hashable, Sendable {
        /// It runs, or is ready to run and waits for a processor.
        case runs
        /// It waits for something that a signal may end, or has ended.
        case sleeps
        /// The kernel holds it: it is frozen, or waits for a page, a file or a child. Only the process's end ends that.
        case isHeld
        /// It is stopped, as by a debugger.
        case isStopped
    }

    package let activity: Activity
    /// The processor time that the thread has used, in nanoseconds; precise to 10 ms.
    package let ran: UInt64
    /// Whether the thread works off queues: libdispatch names it after a quality of service.
    let isWorker: Bool

    /// Reads the text of a thread's file `stat`; nil if it is no such text, or says something that is not known here.
    package init?(_ text: some BidirectionalCollection<UInt8>) {
        // The other fields follow the thread's name, which is in brackets and may contain some.
        guard let bracket = text.lastIndex(of: UInt8(ascii: ")")),
            let start = text[..<bracket].firstIndex(of: UInt8(ascii: "("))
        else { return nil }
        let fields = text[text.index(after: bracket)...].split(separator: UInt8(ascii: " "))
        // The letter is the third field of all, and the times in and outside the kernel are the 14th and 15th.
        guard fields.count > 12, fields[0].count == 1, let activity = Activity(fields[0].first) else { return nil }
        let ticks = fields[11...12].compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
        guard ticks.count == 2 else { return nil }
        self.activity = activity
        ran = ticks.reduce(0, &+) &* 10_000_000
        isWorker = String(decoding: text[start..<bracket], as: UTF8.self).contains("qos")
    }
}

extension ThreadState.Activity {
    fileprivate init?(_ letter: UInt8?) {
        switch letter {
        case UInt8(ascii: "R"): self = .runs
        case UInt8(ascii: "S"), UInt8(ascii: "Z"), UInt8(ascii: "X"): self = .sleeps
        case UInt8(ascii: "D"): self = .isHeld
        case UInt8(ascii: "T"), UInt8(ascii: "t"): self = .isStopped
        default: return nil
        }
    }
}

/// Why a thread may be late although nothing has failed. A pure value.
package enum HoldUp: Hashable, Sendable {
    /// A thread of the process is stopped. It may hold a lock that this thread needs.
    case debugger
    /// The kernel holds the thread.
    case kernel
    /// The thread is ready to run, and has used this much processor time so far, in nanoseconds.
    case processors(ran: UInt64)
    /// These threads, one of which may be needed, are ready to run or held by the kernel, and have used this much.
    case workers(ran: [String: UInt64])
    /// The system does not say whether there is such a reason.
    case unknown

    /// The reason of a thread; nil if there is none.
    ///
    /// - Parameters:
    ///   - thread: its state; nil if that is not known.
    ///   - others: the states of the process's threads.
    package init?(of thread: ThreadState?, among others: ThreadStates) {
        if others.anyIsStopped == true {
            self = .debugger
            return
        }
        switch thread?.activity {
        case nil: self = .unknown
        case .isStopped: self = .debugger
        case .isHeld: self = .kernel
        case .runs: self = .processors(ran: thread?.ran ?? 0)
        case .sleeps:
            if others.anyIsStopped == false { return nil }
            self = .unknown
        }
    }

    /// The reason of a service whose threads are Dispatch's; nil if there is none.
    package init?(ofWorkersAmong others: ThreadStates) {
        let late = others.known.filter { $0.value.isWorker && [.runs, .isHeld].contains($0.value.activity) }
        if others.anyIsStopped == true {
            self = .debugger
        } else if !others.isComplete {
            self = .unknown
        } else if late.isEmpty {
            return nil
        } else {
            self = .workers(ran: late.mapValues(\.ran))
        }
    }
}

/// The states of the process's threads, by their numbers in /proc. A pure value.
package struct ThreadStates: Hashable, Sendable {
    package var known: [String: ThreadState] = [:]
    /// Whether each thread's state is known.
    package var isComplete: Bool

    package init(known: [String: ThreadState] = [:], isComplete: Bool) {
        (self.known, self.isComplete) = (known, isComplete)
    }

    /// Whether any thread is stopped; nil if that is not known. O(n) for n threads.
    package var anyIsStopped: Bool? {
        known.contains { $0.value.activity == .isStopped } ? true : isComplete ? false : nil
    }
}
