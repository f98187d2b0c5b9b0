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
        /// What the groups with a quota had counted after the last tick, and before the last wake-up.
        var throttling: [Throttling?] = []
        var throttlingBeforeWakeUp: [Throttling?] = []
        /// The nanoseconds of the last tick on its clock.
        var delivered: UInt64 = 0
        /// The stolen time at the last late tick, in nanoseconds; nil if the kernel does not show it.
        var stolen = ProcessorTime.current?.stolen
    }

    private let state: Mutex<State>
    /// The nanoseconds that the thread may spin before a deadline, which is no work.
    private let spin: UInt64
    /// Of the limits that the process had at the beginning.
    private let reader = ThrottlingReader()

    /// Finds the causes of ticks that are later than the threshold. A thread that only sleeps spins 0 ns.
    package init(threshold: UInt64, spin: UInt64 = 0) {
        state = Mutex(State(late: LateTicks(threshold: threshold)))
        self.spin = spin
    }

    /// The late ticks up to now.
    package var late: LateTicks { state.withLock { $0.late } }

    /// Notes a tick, by its lateness and its instant on its clock in nanoseconds. Call it on the thread that ticked,
    /// after the tick was recorded.
    package func note(lateness: Int64, at delivered: UInt64) {
        // First, since a stop after the tick must not be in the account that the next tick is compared with.
        let throttling = reader.accounts
        let account = ThreadAccount.current
        state.withLock { state in
            let deadline = delivered &- UInt64(bitPattern: lateness)
            // A deadline that had passed at the tick before was held up by the same wait.
            if deadline > state.delivered {
                (state.beforeWakeUp, state.throttlingBeforeWakeUp) = (state.account, state.throttling)
            }
            state.delivered = delivered
            defer { (state.account, state.throttling) = (account, throttling) }
            guard lateness > 0, lateness.magnitude > state.late.threshold else { return }
            let stolen = ProcessorTime.current?.stolen
            let isStolen = stolen.flatMap { now in state.stolen.map { now > $0 } } ?? false
            state.stolen = stolen
            state.late.add(
                LateTicks.Cause(
                    of: lateness.magnitude,
                    from: state.beforeWakeUp,
                    to: account,
                    spin: spin,
                    throttled: Self.longestStop(from: state.throttlingBeforeWakeUp, to: throttling),
                    isStolen: isStolen,
                    longestIdleExit: IdleStates.deepest?.exit
                )
            )
        }
    }

    /// Nanoseconds for which the group was stopped that was stopped longest; nil if no account shows it. Nothing was
    /// counted before the first tick.
    package static func longestStop(from before: [Throttling?], to after: [Throttling?]) -> UInt64? {
        zip(before, after).compactMap { before, after in before.flatMap { after?.since($0)?.nanoseconds } }.max()
    }
}

extension LateTicks.Cause {
    /// The cause that explains at least half of a lateness: from the accounts of the thread that ticked before (nil for
    /// the first tick) and of the one that ticked late, the nanoseconds that may have been spinning, those for which a
    /// quota stopped the process since the tick before, whether the kernel has counted time of other guests since the
    /// last late tick, and how long a processor needs to leave its deepest idle state. An account that is not shown is
    /// nil, and no cause.
    package init(
        of lateness: UInt64,
        from before: ThreadAccount?,
        to after: ThreadAccount?,
        spin: UInt64 = 0,
        throttled: UInt64? = nil,
        isStolen: Bool,
        longestIdleExit: UInt64?
    ) {
        // The quota stops every thread of the process, and a stopped thread counts as one that waits.
        if let throttled, throttled > 0, throttled >= lateness / 2 {
            self = .throttled
            return
        }
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
            } else if let longestIdleExit, longestIdleExit >= half { .idle } else if isStolen { .stolen } else {
                .stalled
            }
    }
}
