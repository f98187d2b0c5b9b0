internal import CTimerKernel
internal import Dispatch
internal import Synchronization

/// One property of a thread, or of its process, that the kernel is asked for: the call that asks, and the words for
/// it.
package struct ThreadSetting: Sendable {
    /// The property's name, which is that of an option in a service's grant. A thread is asked for each at most once.
    package let name: String
    /// The setting, as `fifo:80`.
    package let asked: String
    /// The operation, as in an error's message.
    let attempt: String
    /// One sentence on what would help after a refusal.
    let advice: @Sendable (_ errno: Int32) -> String
    /// Asks the kernel, for the calling thread or for the process. Returns what must be held as long as the setting is
    /// wanted, if there is such a thing.
    let make: @Sendable () throws(Errno) -> (any Sendable)?
    /// What came of the setting since a thread has obtained it, if the thread has lost it; nil if it has it, or has
    /// ended. Only for what the kernel may take away by itself.
    var loss: (@Sendable (_ thread: Int32) -> ThreadSetup.Outcome?)?
    /// Gives the calling thread its settings back, which it had lent out (``ThreadSetup/asOrdinaryThread(_:)``).
    var restore: (@Sendable () -> Void)?
    /// Whether the thread has processors of its own with it.
    var pinsThread = false
    /// Whether a service's thread asks for it by itself. If the kernel does not have it, the user was refused nothing.
    package private(set) var isDefault = false
    /// Whether the whole process or machine has this property, so that it is set without the thread.
    var isOfProcess = false
    /// The most processor time that the thread gets with it; nil for no such limit.
    var runtime: Runtime?

    /// A part of each period, both in nanoseconds.
    package struct Runtime: Hashable, Sendable {
        package let length: UInt64
        package let period: UInt64

        package init(_ length: UInt64, in period: UInt64) { (self.length, self.period) = (length, period) }
    }

    /// The same setting, which a service's thread asks for by itself, or not.
    package func asDefault(_ isDefault: Bool) -> ThreadSetting {
        var setting = self
        setting.isDefault = isDefault
        return setting
    }
}

/// Applies the settings to a service's thread, and remembers their outcomes.
package final class ThreadSetup: Sendable {
    /// What came of a setting.
    package struct Outcome: Sendable {
        /// Nil if the setting was obtained.
        package let refusal: TimerError?
        /// One sentence on what would help, if the setting was refused.
        package let advice: String?
    }

    private struct State: Sendable {
        var outcomes: [String: Outcome] = [:]
        /// What keeps processors from idling deeply while it is held.
        var idleLatency: (any Sendable)?
        /// The kernel's number of the thread that was started last.
        var thread: Int32?
        /// Its number in /proc until it ends, if that is known.
        var name: String?
        /// The file of its state, until it ends.
        var file: ThreadFile?
    }

    /// The settings that were asked for, in the order in which they are made.
    package let settings: [ThreadSetting]
    private let state = Lock(State())
    /// Lets the thread sleep before a limit of the process ends it; nil without such a limit. Only the thread itself
    /// asks it.
    private let rest = Lock<RealTimeRest?>(nil)
    /// Whether there is such a limit. Relaxed, as the next one.
    private let mustRest = Atomic(false)
    /// Whether the thread obtained processors of its own. Relaxed: only the thread itself reads what it has written.
    private let isPinned = Atomic(false)
    /// Counts loans and returns of the thread's affinity, so that `outcomes` does not report a loan as a loss.
    private let lent = Atomic(0)
    private let returned = Atomic(0)

    /// - Parameter settings: the settings to ask for.
    package init(_ settings: [ThreadSetting] = []) { self.settings = settings }

    /// Whether the thread asks for a policy of its own: each of them is a real-time policy.
    package var asksForRealTime: Bool { settings.contains { $0.name == "policy" } }

    /// The most processor time that the thread gets, if all that is asked for is obtained; nil for no such limit.
    package var runtime: ThreadSetting.Runtime? { settings.lazy.compactMap(\.runtime).first }

    /// What came of the settings that have been made so far, by their names. Of a thread that was started here, also
    /// whether the kernel has taken one away since, as it does with the last processor of an affinity.
    package var outcomes: [String: Outcome] {
        var (outcomes, thread) = state.withLock { ($0.outcomes, $0.thread) }
        guard let thread else { return outcomes }
        // The order of the two readings: if they are equal, nothing was lent in between.
        let returned = returned.load(ordering: .sequentiallyConsistent)
        let losses = settings.filter { outcomes[$0.name].map { $0.refusal == nil } ?? false }
            .compactMap { setting in setting.loss?(thread).map { (setting.name, $0) } }
        guard lent.load(ordering: .sequentiallyConsistent) == returned else { return outcomes }
        for (name, loss) in losses { outcomes[name] = loss }
        return outcomes
    }

    /// Starts a thread. Returns when its settings have been made.
    ///
    /// - Parameters:
    ///   - name: the thread's name in the kernel, at most 15 bytes.
    ///   - body: the work of the thread.
    /// - Throws: `TimerError` if the system refuses the thread.
    package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws(TimerError) {
        let isReady = DispatchSemaphore(value: 0)
        try Thread.start(name) {
            let thread = ThreadList.callingThread
            self.note(thread, number: thread_id())
            self.makeCallingThread()
            let rest = RealTimeRest()
            self.mustRest.store(rest != nil, ordering: .relaxed)
            self.rest.withLock { $0 = rest }
            isReady.signal()
            body()
            self.forget(thread)
        }
        isReady.wait()
    }

    /// Notes the thread that was started last.
    private func note(_ thread: String?, number: Int32) {
        state.withLock { ($0.thread, $0.name, $0.file) = (number, thread, nil) }
    }

    /// Closes the file of a thread that ends, unless another one was started. A handler may have forked, and the body
    /// have returned in the child.
    private func forget(_ thread: String?) {
        state.withLock(inForkedChild: ()) { if $0.name == thread { ($0.name, $0.file) = (nil, nil) } }
    }

    /// Opens the file of the thread's state, if that has not been done: later the system may refuse it. Call it when
    /// the thread has the descriptors that it needs.
    package func keepState(among threads: ThreadList) {
        guard let name = state.withLock({ $0.file == nil ? $0.name : nil }) else { return }
        let file = threads.file(of: name)
        state.withLock { if $0.name == name { $0.file = file } }
    }

    /// A reason why the thread may be late although nothing has failed; nil if there is no such reason. A service
    /// without a thread of its own has Dispatch's threads. Reads /proc, so call it without a lock.
    package func holdUp(among threads: ThreadList = ThreadList()) -> HoldUp? {
        let others = threads.states
        keepState(among: threads)
        let (hasThread, name, file) = state.withLock { ($0.thread != nil, $0.name, $0.file) }
        if !hasThread { return HoldUp(ofWorkersAmong: others) }
        return HoldUp(of: file?.state ?? name.flatMap { others.known[$0] }, among: others)
    }

    /// The thread calls this after each firing. A real-time thread whose handlers take longer than its periods never
    /// sleeps, and the kernel would end the process at the limit of such threads. So it sleeps for a moment if it has
    /// not slept for half of that limit. Without such a limit it does nothing.
    package func restIfBehind() {
        guard mustRest.load(ordering: .relaxed) else { return }
        if rest.withLock({ $0?.isDue(ran: Thread.processorTime, sleeps: Thread.sleeps) }) == true {
            KernelClock.sleep(for: .microseconds(100))
        }
    }

    /// Makes the settings of a thread on the calling thread.
    package func makeCallingThread() { make { !$0.isOfProcess } }

    /// Makes the settings of the process.
    package func makeProcess() { make(\.isOfProcess) }

    /// A service that was restarted makes its settings again.
    private func make(_ isWanted: (ThreadSetting) -> Bool) {
        for setting in settings where isWanted(setting) {
            var (held, refusal): ((any Sendable)?, Errno?) = (nil, nil)
            do throws(Errno) { held = try setting.make() } catch { refusal = error }
            if setting.pinsThread { isPinned.store(refusal == nil, ordering: .relaxed) }
            let error = refusal?.error(attempting: setting.attempt)
            let outcome = Outcome(refusal: error, advice: refusal.map { setting.advice($0.number) })
            state.withLock { state in
                if let held { state.idleLatency = held }
                state.outcomes[setting.name] = outcome
            }
        }
    }

    /// Runs a body on the thread that was started. If the thread has processors of its own, it gets those of the main
    /// thread, and the timer slack that it had before.
    ///
    /// What leaves the thread, such as a block for a queue, may start a worker of Dispatch. A new thread has its
    /// creator's values, and a worker would keep them for all later work of the process. Costs five system calls, some
    /// ten microseconds; without an affinity, nothing.
    package func asOrdinaryThread(_ body: () -> Void) {
        guard isPinned.load(ordering: .relaxed) else { return body() }
        lent.add(1, ordering: .sequentiallyConsistent)
        thread_unpin()
        body()
        for setting in settings { setting.restore?() }
        returned.add(1, ordering: .sequentiallyConsistent)
    }

    /// Lets the processors idle as before. Memory stays locked, because unlocking it would also undo the locks of
    /// the host.
    package func release() { _ = state.withLock { $0.idleLatency.take() } }
}
