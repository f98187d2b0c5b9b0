package import HostSystem
internal import Synchronization
package import TimerResults

/// Finds the causes of the late ticks of a turn. The ticking thread reads its own account after each tick.
package final class LateWatch: Sendable {
    /// The knowledge after a tick.
    private struct State {
        var late: LateTicks
        /// The thread's account after the last tick.
        var account: ThreadAccount?
        /// The account before the last wake-up, which may have served several deadlines.
        var beforeWakeUp: ThreadAccount?
        /// The nanoseconds of the last tick on its clock.
        var delivered: UInt64 = 0
        var steal = StealTime.current
    }

    private let state: Mutex<State>
    /// The nanoseconds that the thread may spin before a deadline, which is no work.
    private let spin: UInt64

    /// - Parameters:
    ///   - threshold: the nanoseconds from which on a tick is late.
    ///   - spin: the nanoseconds that the thread may spin before a deadline; 0 for a thread that only sleeps.
    package init(threshold: UInt64, spin: UInt64 = 0) {
        state = Mutex(State(late: LateTicks(threshold: threshold)))
        self.spin = spin
    }

    /// The late ticks up to now.
    package var late: LateTicks { state.withLock { $0.late } }

    /// Notes a tick. Call it on the thread that ticked, after the tick was recorded.
    ///
    /// - Parameters:
    ///   - lateness: nanoseconds.
    ///   - delivered: the instant of the tick, in nanoseconds on its clock.
    package func note(lateness: Int64, at delivered: UInt64) {
        let account = ThreadAccount.current
        state.withLock { state in
            let deadline = delivered &- UInt64(bitPattern: lateness)
            // A deadline that had passed at the tick before was held up by the same wait.
            if deadline > state.delivered { state.beforeWakeUp = state.account }
            state.delivered = delivered
            defer { state.account = account }
            guard lateness > 0, lateness.magnitude > state.late.threshold else { return }
            let steal = StealTime.current
            let isStolen = (steal?.stolen ?? 0) > (state.steal?.stolen ?? 0)
            state.steal = steal
            state.late.add(
                LateTicks.Cause(
                    of: lateness.magnitude,
                    from: state.beforeWakeUp,
                    to: account,
                    spin: spin,
                    isStolen: isStolen,
                    longestIdleExit: IdleStates.longestExit
                )
            )
        }
    }
}

extension LateTicks.Cause {
    /// The cause that explains at least half of a lateness.
    ///
    /// - Parameters:
    ///   - lateness: nanoseconds.
    ///   - before: the account of the thread that ticked before; nil for the first tick.
    ///   - after: the account of the thread that ticked late.
    ///   - spin: the nanoseconds of its running that may have been spinning.
    ///   - isStolen: whether the kernel has counted time of other guests since the last late tick of the turn.
    ///   - longestIdleExit: nanoseconds that a processor needs to leave its deepest idle state.
    package init(
        of lateness: UInt64,
        from before: ThreadAccount?,
        to after: ThreadAccount?,
        spin: UInt64 = 0,
        isStolen: Bool,
        longestIdleExit: UInt64
    ) {
        guard let before, let after, before.thread == after.thread, before.running <= after.running,
            before.waiting <= after.waiting
        else {
            self = .unseen
            return
        }
        let (half, running) = (lateness / 2, after.running - before.running)
        self =
            if after.waiting - before.waiting >= half { .waited } else if running - min(running, spin) >= half {
                .worked
            } else if longestIdleExit >= half { .idle } else if isStolen { .stolen } else { .stalled }
    }
}
