internal import TimerKernel

/// Finds the causes of the late ticks of a turn. The ticking thread reads its own account after each tick.
final class LateWatch: Sendable {
    /// The knowledge after a tick.
    private struct State {
        var late: LateTicks
        /// The last ticks by their threads, since workers take turns.
        var threads: [UInt: Ticks] = [:]
        /// What the groups with a quota had counted after the last tick, and before the last wake-up.
        var throttling: [Throttling?] = []
        var throttlingBeforeWakeUp: [Throttling?] = []
        /// The nanoseconds of the last tick on its clock.
        var delivered: UInt64 = 0
        /// The stolen time at the last late tick, in nanoseconds; nil if the kernel does not show it.
        var stolen = ProcessorTime.current()?.stolen
        /// Whether there was more of it at that tick than before.
        var isStolen = false
        /// Nanoseconds on a processor for the watch itself; nil if the kernel does not show them.
        var cost: UInt64? = 0

        init(threshold: UInt64) {
            late = LateTicks(threshold: threshold)
            // A tick should not wait for memory.
            threads.reserveCapacity(256)
        }
    }

    /// The ticks of one thread.
    private struct Ticks {
        var last: ThreadAccount
        /// The instant of the last one, in nanoseconds on its clock.
        var delivered: UInt64
        /// At the tick before the last wake-up, which may have served several deadlines.
        var beforeWakeUp: ThreadAccount
    }

    private let state: Lock<State>
    /// The nanoseconds that the thread may spin before a deadline, which is no work.
    private let spin: UInt64
    /// Of the limits that the process had at the beginning.
    private let reader = ThrottlingReader()

    /// Finds the causes of ticks that are later than the threshold. A thread that only sleeps spins 0 ns.
    init(threshold: UInt64, spin: UInt64 = 0) {
        state = Lock(State(threshold: threshold))
        self.spin = spin
    }

    /// The late ticks up to now.
    var late: LateTicks { state.withLock { $0.late } }

    /// What the ticking threads spent on the watch, which is no cost of their row; nil if the kernel does not show it.
    var usage: ResourceUsage? {
        state.withLock { $0.cost }
            .map { ResourceUsage(cpuNanoseconds: Int64($0), voluntarySwitches: 0, involuntarySwitches: 0) }
    }

    /// Notes a tick, by its lateness and its instant on its clock in nanoseconds. Call it on the thread that ticked,
    /// after the tick was recorded.
    func note(lateness: Int64, at delivered: UInt64) {
        let begin = Thread.processorTime
        // First, since a stop after the tick must not be in the account that the next tick is compared with.
        let throttling = reader.accounts
        let account = ThreadAccount.current
        state.withLock { state in
            let deadline = delivered &- UInt64(bitPattern: lateness)
            // A deadline that had passed at the tick before was held up by the same wait.
            let isSameWait = deadline <= state.delivered
            if !isSameWait { state.throttlingBeforeWakeUp = state.throttling }
            (state.delivered, state.throttling) = (delivered, throttling)
            let before = account.flatMap { Self.note($0, at: delivered, deadline: deadline, in: &state.threads) }
            if lateness > 0, lateness.magnitude > state.late.threshold {
                let stolen = ProcessorTime.current()?.stolen
                let isMore = stolen.flatMap { now in state.stolen.map { now > $0 } } ?? false
                state.isStolen = isMore || isSameWait && state.isStolen
                state.stolen = stolen
                state.late.add(
                    LateTicks.Cause(
                        of: lateness.magnitude,
                        from: before,
                        to: account,
                        spin: spin,
                        throttled: Self.longestStop(from: state.throttlingBeforeWakeUp, to: throttling),
                        isStolen: state.isStolen,
                        longestIdleExit: IdleStates.deepest?.exit
                    )
                )
            } else {
                state.isStolen = false
            }
            Self.add(since: begin, to: &state.cost)
        }
    }

    /// Notes a thread's tick. Returns the tick that it is compared with; nil if the thread had none.
    private static func note(
        _ account: ThreadAccount,
        at delivered: UInt64,
        deadline: UInt64,
        in threads: inout [UInt: Ticks]
    ) -> ThreadAccount? {
        guard let known = threads[account.thread] else {
            threads[account.thread] = Ticks(last: account, delivered: delivered, beforeWakeUp: account)
            return nil
        }
        let before = deadline > known.delivered ? known.last : known.beforeWakeUp
        threads[account.thread] = Ticks(last: account, delivered: delivered, beforeWakeUp: before)
        return before
    }

    /// Adds the calling thread's time since the beginning of a note.
    private static func add(since begin: UInt64?, to cost: inout UInt64?) {
        cost = cost.flatMap { sum in begin.flatMap { begin in Thread.processorTime.map { sum &+ ($0 &- begin) } } }
    }

    /// Nanoseconds for which the group was stopped that was stopped longest; nil if no account shows it. Nothing was
    /// counted before the first tick.
    static func longestStop(from before: [Throttling?], to after: [Throttling?]) -> UInt64? {
        zip(before, after).compactMap { before, after in before.flatMap { after?.since($0)?.nanoseconds } }.max()
    }
}

extension ThreadAccount {
    /// The times since an earlier account; nil if that is another thread's, or that of an ended thread whose number
    /// this one has.
    fileprivate func since(_ earlier: ThreadAccount) -> (running: UInt64, waiting: UInt64)? {
        guard thread == earlier.thread, running >= earlier.running, waiting >= earlier.waiting else { return nil }
        return (running - earlier.running, waiting - earlier.waiting)
    }
}

extension LateTicks.Cause {
    /// The cause that explains at least half of a lateness: from the thread's account at the tick before (nil for its
    /// first one) and at the late tick, the nanoseconds that may have been spinning, those for which a quota stopped
    /// the process since the tick before, whether the kernel has counted time of other guests since the last late
    /// tick, and how long a processor needs to leave its deepest idle state. An account that is not shown is nil, and
    /// no cause.
    init(
        of lateness: UInt64,
        from before: ThreadAccount?,
        to after: ThreadAccount?,
        spin: UInt64 = 0,
        throttled: UInt64? = nil,
        isStolen: Bool,
        longestIdleExit: UInt64?
    ) {
        let half = lateness / 2
        let times = before.flatMap { after?.since($0) }
        // The first that is true. The quota stops every thread of the process, and a stopped thread counts as one that
        // waits.
        let causes: [(Self, Bool)] = [
            (.throttled, throttled.map { $0 > 0 && $0 >= half } ?? false), (.unshown, after == nil),
            (.unseen, times == nil), (.waited, times.map { $0.waiting >= half } ?? false),
            (.worked, times.map { $0.running >= half + spin } ?? false), (.stolen, isStolen),
            (.idle, longestIdleExit.map { $0 >= half } ?? false),
        ]
        self = causes.first(where: \.1)?.0 ?? .stalled
    }
}
