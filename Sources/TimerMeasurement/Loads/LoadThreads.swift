internal import Dispatch
internal import TimerAlarms
internal import TimerCore

/// Threads that work until they are told to stop.
final class LoadThreads: LoadWork {
    private let isStopped = StopFlag()
    /// Signalled by each thread when it has entered itself, and when its work is over.
    private let entered = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let state = Lock(State())

    private struct State {
        /// Those that work.
        var threads: [KernelThread] = []
        /// How many ends nobody has waited for.
        var unawaited = 0
    }

    /// Starts threads; returns when all of them run, so that all of them are billed for.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - name: at most 15 bytes, of each.
    ///   - work: what each does; returns soon after the flag is set.
    /// - Throws: `TimerError` where the system refuses one; those before it have been stopped then.
    init(_ count: Int, named name: String, _ work: @escaping @Sendable (StopFlag) -> Void) throws(TimerError) {
        for _ in 0..<count {
            do throws(TimerError) { try start(name, work) } catch {
                stop()
                throw error
            }
        }
        for _ in 0..<count { entered.wait() }
    }

    private func start(_ name: String, _ work: @escaping @Sendable (StopFlag) -> Void) throws(TimerError) {
        try Thread.start(name) { [isStopped, entered, ended, state] in
            let thread = KernelThread.current
            state.withLock { $0.threads.append(thread) }
            entered.signal()
            work(isStopped)
            ended.signal()
        }
        state.withLock { $0.unawaited += 1 }
    }

    deinit { stop() }

    var usage: ResourceUsage {
        state.withLock { $0.threads }.reduce(.none) { $0 + ($1.usage ?? .none) }
    }

    func stop() {
        isStopped.set()
        let unawaited = state.withLock { state in
            defer { state.unawaited = 0 }
            return state.unawaited
        }
        for _ in 0..<unawaited { ended.wait() }
    }
}
