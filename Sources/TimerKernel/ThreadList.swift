internal import CTimerKernel

/// Asks the kernel for the states of this process's threads.
///
/// The folder of /proc is opened early and kept: later the process may not find it, after a chroot or in a sandbox. An
/// open folder outlasts both, and an unmount.
package final class ThreadList: Sendable {
    private let folder = Lock<KeptFile?>(nil)

    package init() {}

    /// The calling thread's number in /proc; nil without /proc. In a namespace of processes it may be another one than
    /// that of gettid(2). The link says PROCESS/task/THREAD, and needs no descriptor.
    package static var callingThread: String? {
        var text = [CChar](repeating: 0, count: 64)
        let count = unsafe max(0, readlink("/proc/thread-self", &text, text.count))
        let parts = text[..<count].map { UInt8(bitPattern: $0) }.split(separator: UInt8(ascii: "/"))
        return parts.count == 3 ? String(decoding: parts[2], as: UTF8.self) : nil
    }

    /// Opens the folder, if that has not been done. If the system refuses it now, a later reading tries again.
    package func keep() { _ = kept }

    /// Opens the file of a thread's state; nil if the system refuses it.
    func file(of thread: String) -> ThreadFile? { KeptFile { self.open("\(thread)/stat") }.map(ThreadFile.init) }

    /// The states of all threads. O(n) for n threads.
    package var states: ThreadStates {
        var states = ThreadStates(isComplete: false)
        guard case .success(let copy) = open(".") else { return states }
        guard let list = unsafe fdopendir(copy) else {
            close(copy)
            return states
        }
        defer { unsafe closedir(list) }
        states.isComplete = true
        while let entry = unsafe readdir(list) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            switch open("\(name)/stat").flatMap(ThreadFile.takeText) {
            case .success(let text):
                states.known[name] = ThreadState(text)
                if states.known[name] == nil { states.isComplete = false }
            // The thread has ended.
            case .failure(Errno(ENOENT)), .failure(Errno(ESRCH)): continue
            case .failure: states.isComplete = false
            }
        }
        // At least the calling thread is in a list that the system gives.
        if states.known.isEmpty { states.isComplete = false }
        return states
    }

    private var kept: KeptFile? {
        folder.withLock { folder in
            if folder?.isOurs != true {
                folder = KeptFile {
                    SystemCall.retrying { unsafe file_open_at(AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY) }
                }
            }
            return folder
        }
    }

    /// Opens a file of the folder.
    private func open(_ name: String) -> Result<CInt, Errno> {
        let kept = kept
        defer { withExtendedLifetime(kept) {} }
        let path = kept == nil ? "/proc/self/task/\(name)" : name
        return SystemCall.retrying { unsafe file_open_at(kept?.number ?? AT_FDCWD, path, O_RDONLY) }
    }
}

/// The kept file of a thread's state, which can be read when no other file can be opened.
final class ThreadFile: Sendable {
    private let file: KeptFile

    fileprivate init(_ file: KeptFile) { self.file = file }

    /// What the kernel says; nil if it says nothing.
    var state: ThreadState? {
        guard file.isOurs, case .success(let text) = Self.text(of: file.number) else { return nil }
        return ThreadState(text)
    }

    /// The text of a descriptor, which is then closed.
    fileprivate static func takeText(of number: CInt) -> Result<ArraySlice<UInt8>, Errno> {
        defer { close(number) }
        return text(of: number)
    }

    /// The text from the file's start. A file that is none of ours is left as it is.
    private static func text(of number: CInt) -> Result<ArraySlice<UInt8>, Errno> {
        var text = [UInt8](repeating: 0, count: 512)
        return SystemCall.retrying { unsafe pread(number, &text, text.count, 0) }.map { text[..<$0] }
    }
}

/// A file that is open for long. If the process closes the descriptor from outside, its number may belong to another
/// file. So the value compares the file before each use, and does not close another one.
private final class KeptFile: Sendable {
    /// How many descriptors are left for others: a library may end the process if it gets none.
    private static let spare = 2

    let number: CInt
    private let claim: DescriptorClaim
    private let file: UInt64?

    /// Nil if the system refuses the file, or has hardly any descriptors left.
    init?(_ open: () -> Result<CInt, Errno>) {
        guard (try? EventLoopTrial.check(spare: Self.spare + 1)) != nil, case .success(let number) = open() else {
            return nil
        }
        self.number = number
        claim = DescriptorClaim(number)
        file = WakeUp.file(of: number)
    }

    var isOurs: Bool { !claim.isLost && file != nil && WakeUp.file(of: number) == file }

    deinit {
        if !isOurs { claim.lose() }
        claim.close()
    }
}

/// The process's limit on real-time threads (RLIMIT_RTTIME of getrlimit(2)).
package enum RealTimeLimit {
    /// How many nanoseconds of processor time a real-time thread may use without a sleep, before the kernel sends
    /// SIGXCPU, which ends the process; nil without a limit.
    package static var nanoseconds: UInt64? {
        var microseconds: UInt64 = 0
        guard unsafe real_time_limit(&microseconds) == 1 else { return nil }
        let (nanoseconds, isUnlimited) = microseconds.multipliedReportingOverflow(by: 1_000)
        return isUnlimited ? nil : nanoseconds
    }

    /// Whether the calling thread may run for a stretch without a sleep. Half of the limit is left for handlers, and a
    /// quarter for another such stretch.
    package static func allows(stretch: UInt64) -> Bool {
        guard thread_is_real_time() == 1, let nanoseconds else { return true }
        return stretch <= nanoseconds / 4
    }
}

/// The kernel's threads that stand between a timer and a real-time thread.
package enum RealTimeKernel {
    /// Whether timers expire in threads of the kernel (PREEMPT_RT), apart from the time-outs of real-time threads: see
    /// ``ThreadTimer``.
    package static var expiresTimersInThreads: Bool { kernel_is_preempt_rt() == 1 }
}

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
