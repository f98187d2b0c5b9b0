internal import CLinuxTimers
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Makes a service's thread what was asked for, and remembers what came of it.
package final class ThreadSetup: Sendable {
    /// What came of a setting.
    package struct Outcome: Sendable {
        package let setting: ThreadSetting
        /// Nil if the setting was obtained.
        package let refusal: TimerError?
        /// One sentence on what would help, if the setting was refused.
        package var advice: String? { refusal?.errno.map { setting.advice(on: $0) } }
    }

    /// A reason for a thread to be late.
    package enum HoldUp: Hashable, Sendable {
        /// A thread of the process is stopped. It may hold a lock that this thread needs.
        case debugger
        /// The thread is ready to run, and has used this much processor time so far, in nanoseconds.
        case processors(ran: UInt64)
    }

    private struct State: Sendable {
        var outcomes: [Outcome] = []
        /// The file whose being open keeps processors from idling deeply.
        var idleLatency: IdleLatencyFile?
        /// The kernel's number of the thread that was started last.
        var thread: Int32?
    }

    /// The settings that were asked for, in the order in which they are made.
    package let settings: [ThreadSetting]
    private let state = Lock(State())
    /// The processors of the thread as the kernel's mask; nil if it may run on all.
    private let processors: [UInt]?
    /// Whether the thread obtained them. Relaxed: only the thread itself reads what it has written.
    private let isPinned = Atomic(false)

    /// - Parameter settings: the settings to ask for.
    package init(_ settings: [ThreadSetting] = []) {
        self.settings = settings
        processors = settings.lazy.compactMap(\.mask).first
    }

    /// What came of the settings that have been made so far.
    package var outcomes: [Outcome] { state.withLock { $0.outcomes } }

    /// Starts a thread. Returns when its settings have been made.
    ///
    /// - Parameters:
    ///   - name: the thread's name in the kernel, at most 15 bytes.
    ///   - body: the work of the thread.
    /// - Throws: `TimerError` if the system refuses the thread.
    package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws(TimerError) {
        let isReady = DispatchSemaphore(value: 0)
        try Thread.start(name) {
            self.state.withLock { $0.thread = thread_id() }
            self.makeCallingThread()
            isReady.signal()
            body()
        }
        isReady.wait()
    }

    /// A reason why the thread may be late although nothing has failed; nil if there is no such reason. Reads /proc, so
    /// call it without a lock.
    package var holdUp: HoldUp? {
        if ThreadState.anyIsStopped { return .debugger }
        let state = state.withLock { $0.thread }.flatMap { ThreadState(of: $0) }
        return state.flatMap { $0.isRunnable ? .processors(ran: $0.ran) : nil }
    }

    /// Makes the settings of a thread on the calling thread.
    package func makeCallingThread() {
        for setting in settings where !setting.isOfProcess {
            let refusal = setting.make()
            note(setting, refusal)
            if case .affinity = setting { isPinned.store(refusal == nil, ordering: .relaxed) }
        }
    }

    /// Runs a body on the thread that was started. If the thread has processors of its own, it gets those of the main
    /// thread and its former timer slack meanwhile.
    ///
    /// What leaves the thread, such as a block for a queue, may start a worker of Dispatch. A new thread has its
    /// creator's values, and a worker would keep them for all later work of the process. Costs five system calls, some
    /// ten microseconds; without an affinity, nothing.
    package func asOrdinaryThread(_ body: () -> Void) {
        guard let processors, isPinned.load(ordering: .relaxed) else { return body() }
        thread_affinity_copy(getpid())
        // 0 stands for the slack that the thread began with (PR_SET_TIMERSLACK(2const)).
        _ = timer_slack_set(0)
        body()
        _ = unsafe thread_affinity_set(processors, UInt(processors.count * MemoryLayout<UInt>.size))
        for case .timerSlack(let nanoseconds) in settings { _ = timer_slack_set(UInt(nanoseconds)) }
    }

    /// Makes the settings of the process.
    package func makeProcess() {
        for setting in settings where setting.isOfProcess {
            if case .idleLatency(let microseconds) = setting {
                let (file, refusal) = IdleLatencyFile.open(microseconds)
                state.withLock { $0.idleLatency = file }
                note(setting, refusal)
            } else {
                note(setting, setting.make())
            }
        }
    }

    /// Lets the processors idle as before. Memory stays locked, because unlocking it would also undo the locks of
    /// the host.
    package func release() { _ = state.withLock { $0.idleLatency.take() } }

    /// A service that was restarted makes its settings anew.
    private func note(_ setting: ThreadSetting, _ refusal: Errno?) {
        state.withLock { state in
            state.outcomes.removeAll { $0.setting == setting }
            state.outcomes.append(Outcome(setting: setting, refusal: refusal?.error(attempting: setting.attempt)))
        }
    }
}
