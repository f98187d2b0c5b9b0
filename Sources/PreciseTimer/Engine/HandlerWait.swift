internal import Dispatch
internal import TimerKernel

/// One caller's wait for the handlers of any number of timers to return.
///
/// A timer counts from ``expectReturn()`` until ``handlerReturned(goesOn:)``. The caller's own wait begins after all of
/// its timers were counted.
final class HandlerWait: Sendable {
    /// The caller, while it waits.
    private enum Caller {
        case thread(DispatchSemaphore)
        case task(CheckedContinuation<Bool, Never>)

        /// Lets the caller go on; without an answer on a thread, whose wait has no limit.
        func resume(_ hasWaited: Bool) {
            switch self {
            case .thread(let semaphore): semaphore.signal()
            case .task(let continuation): continuation.resume(returning: hasWaited)
            }
        }
    }

    private struct State {
        /// How many timers have a handler that has not returned, or a last tick that has not come.
        var pending = 0
        var caller: Caller?
        var someGoOn = false
    }

    /// Whether a timer ends with its last handler even if that handler has set it again.
    let endsTimers: Bool
    private let state = Lock(State())

    init(endsTimers: Bool = false) { self.endsTimers = endsTimers }

    /// Counts one more timer.
    func expectReturn() { state.withLock { $0.pending += 1 } }

    /// The last handler of a timer has returned. Called without a lock.
    func handlerReturned(goesOn: Bool) {
        let caller: Caller? = state.withLock(inForkedChild: nil) { state in
            state.pending -= 1
            state.someGoOn = state.someGoOn || goesOn
            return state.pending == 0 ? state.caller.take() : nil
        }
        caller?.resume(true)
    }

    /// Whether a last handler has set its timer again, and the timer goes on.
    var someGoOn: Bool { state.withLock { $0.someGoOn } }

    /// Whether there is a handler to wait for.
    var isNeeded: Bool { state.withLock { $0.pending > 0 } }

    /// Waits for all handlers. Blocks the thread.
    func blockUntilOver() {
        let semaphore = DispatchSemaphore(value: 0)
        if begins(.thread(semaphore)) { semaphore.wait() }
    }

    /// Waits for all handlers, for at most a real time; nil for as long as it takes. Returns false if that is over.
    @discardableResult func untilOver(within limit: Duration? = nil) async -> Bool {
        var timeOut: (any DispatchSourceTimer)?
        // A cancelled source is released at once. A block for later would stay until its time.
        defer { timeOut?.cancel() }
        return await withCheckedContinuation { continuation in
            guard begins(.task(continuation)) else { return continuation.resume(returning: true) }
            timeOut = limit.map { limit in DispatchSource.timer(after: limit) { [self] in giveUp() } }
        }
    }

    /// Stores the caller. Returns false if there is nothing to wait for.
    private func begins(_ caller: Caller) -> Bool {
        state.withLock { state in
            if state.pending > 0 { state.caller = caller }
            return state.pending > 0
        }
    }

    private func giveUp() { state.withLock { $0.caller.take() }?.resume(false) }
}

extension DispatchSource {
    /// Calls a function once when a real time has passed.
    fileprivate static func timer(
        after time: Duration,
        _ onTime: @escaping @Sendable () -> Void
    ) -> any DispatchSourceTimer {
        let source = makeTimerSource(queue: .global())
        let nanoseconds = Int(clamping: max(.zero, time).nanosecondsOrForever)
        source.schedule(deadline: .now() + .nanoseconds(nanoseconds))
        source.setEventHandler { onTime() }
        source.activate()
        return source
    }
}
