internal import Dispatch
internal import TimerAlarms
internal import TimerCore

/// Threads that wait until they are told to work, work until they are told to stop, and wait again until their accounts
/// have been read.
final class LoadThreads: LoadWork {
    private let isHalted = StopFlag()
    /// Signalled once for each thread: to begin its work, and to end.
    private let begun = DispatchSemaphore(value: 0)
    private let dismissed = DispatchSemaphore(value: 0)
    /// Signalled when all threads have entered themselves, and when the work of all is over. By the last thread only, so
    /// that the thread that waits wakes once.
    private let entered = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let state = Lock(State())

    private struct State {
        /// The threads, in the order of their entry.
        var threads: [KernelThread] = []
        /// How many threads have been started.
        var count = 0
        /// How many of them have not finished their work.
        var working = 0
        var phase = Phase.waiting
    }

    private enum Phase { case waiting, working, halted, dismissed }

    /// Starts threads; returns when all of them run and wait.
    ///
    /// - Parameters:
    ///   - count: how many; at least one.
    ///   - name: at most 15 bytes, of each.
    ///   - work: what each does from `begin()` on; returns soon after the flag is set.
    /// - Throws: `TimerError` if the system refuses a thread; the threads before it have been stopped then.
    init(_ count: Int, named name: String, _ work: @escaping @Sendable (StopFlag) -> Void) throws(TimerError) {
        for _ in 0..<count {
            do throws(TimerError) { try start(name, of: count, work) } catch {
                stop()
                throw error
            }
        }
        entered.wait()
        awaitSleep()
    }

    private func start(
        _ name: String,
        of count: Int,
        _ work: @escaping @Sendable (StopFlag) -> Void
    ) throws(TimerError) {
        state.withLock { state in
            state.count += 1
            state.working += 1
        }
        do throws(TimerError) {
            try Thread.start(name) { [isHalted, begun, dismissed, entered, ended, state] in
                let thread = KernelThread.current
                let isLast = state.withLock { state in
                    state.threads.append(thread)
                    return state.threads.count == count
                }
                if isLast { entered.signal() }
                begun.wait()
                if !isHalted.isSet { work(isHalted) }
                Self.noteEnd(state, ended)
                dismissed.wait()
            }
        } catch {
            state.withLock { $0.count -= 1 }
            Self.noteEnd(state, ended)
            throw error
        }
    }

    private static func noteEnd(_ state: Lock<State>, _ ended: DispatchSemaphore) {
        let isLast = state.withLock { state in
            state.working -= 1
            return state.working == 0
        }
        if isLast { ended.signal() }
    }

    deinit { stop() }

    var usage: ResourceUsage {
        state.withLock { $0.threads }.reduce(.none) { $0 + ($1.usage ?? .none) }
    }

    func begin() {
        let count = state.withLock { state in
            guard state.phase == .waiting else { return 0 }
            state.phase = .working
            return state.count
        }
        for _ in 0..<count { begun.signal() }
    }

    func halt() {
        isHalted.set()
        begin()
        let mustWait = state.withLock { state in
            guard state.phase == .working else { return false }
            state.phase = .halted
            return state.count > 0
        }
        guard mustWait else { return }
        ended.wait()
        awaitSleep()
    }

    /// Waits until the threads that have nothing to do sleep, which takes them a moment: the account of each counts that
    /// switch, too. Gives up after some tenths of a second, on a machine that does not let them run.
    private func awaitSleep() {
        var patience = 2_000
        for thread in state.withLock({ $0.threads }) {
            while !thread.isAsleep, patience > 0 {
                patience -= 1
                KernelClock.sleep(for: .microseconds(100))
            }
        }
    }

    func stop() {
        halt()
        let count = state.withLock { state in
            guard state.phase == .halted else { return 0 }
            state.phase = .dismissed
            return state.count
        }
        for _ in 0..<count { dismissed.signal() }
    }
}
