internal import TimerKernel

/// One job of a task, and how it runs.
struct QueuedJob: Sendable {
    enum Kind: Sendable {
        /// The job of a task that prefers the executor.
        case task
        /// The job of an actor on the executor.
        case actor
        /// The same, if its task prefers the executor, too.
        case actorInTask
        /// The end of a `Task.sleep`, which belongs to no executor.
        case sleep
    }

    let job: UnownedJob
    var kind: Kind
}

/// The jobs of an executor in the order of their arrival, and whose turn it is to run them. A pure value: it calls and
/// releases nothing of the user.
struct JobQueue: Sendable {
    private enum Turn: Sendable {
        /// There are no jobs.
        case none
        /// A tick was requested, and will run jobs.
        case requested
        /// The service has ended, and a block on a Dispatch queue will run jobs.
        case elsewhere
        /// This thread runs jobs, of which the current one has this kind.
        case running(ThreadID, QueuedJob.Kind?)
    }

    private var turn = Turn.none
    private var arrived: [QueuedJob] = []
    /// The jobs that arrived before those, from `position` on.
    private var batch: [QueuedJob] = []
    private var position = 0
    /// How many jobs have arrived.
    private(set) var count = 0
    /// How many of them came from elsewhere.
    private(set) var strays = 0

    /// Whether a thread keeps all others from running jobs, because it does so itself or is in a round of the service.
    func isHere(_ thread: ThreadID, isInRound: @autoclosure () -> Bool) -> Bool {
        if case .running(let runner, _) = turn { runner == thread } else { isInRound() }
    }

    /// Adds a job, from a thread. Returns true if that must request a turn. Constant time, amortized.
    mutating func add(_ job: QueuedJob, from thread: ThreadID, isInRound: @autoclosure () -> Bool) -> Bool {
        var job = job
        // Nothing says which task a job belongs to. A task that moves to an actor enqueues its job by itself. If this
        // guess is wrong, the task's next step outside of the actor takes a job more.
        if job.kind == .actor, case .running(thread, let kind?) = turn, kind != .actor { job.kind = .actorInTask }
        arrived.append(job)
        count &+= 1
        strays &+= isHere(thread, isInRound: isInRound()) ? 0 : 1
        guard case .none = turn else { return false }
        turn = .requested
        return true
    }

    /// Counts jobs that go elsewhere, and whose tasks come back from there.
    mutating func noteStrays(_ number: Int) { strays &+= number }

    /// Begins a turn on the calling thread. Returns false if no turn was requested there.
    mutating func begin(elsewhere: Bool = false) -> Bool {
        switch turn {
        case .requested where !elsewhere, .elsewhere where elsewhere: turn = .running(.current, nil)
        default: return false
        }
        return true
    }

    /// The next job of a turn; nil if there is none, which ends the turn.
    mutating func next() -> QueuedJob? {
        if position == batch.count {
            batch.removeAll(keepingCapacity: batch.capacity <= 1_024)
            (position, batch, arrived) = (0, arrived, batch)
        }
        guard position < batch.count else {
            turn = .none
            return nil
        }
        defer { position += 1 }
        let job = batch[position]
        if case .running(let thread, _) = turn { turn = .running(thread, job.kind) }
        return job
    }

    /// Ends a turn. Returns true if jobs remain, so that the caller must request another turn.
    mutating func endTurn() -> Bool {
        let isEmpty = position == batch.count && arrived.isEmpty
        turn = isEmpty ? .none : .requested
        return !isEmpty
    }

    /// Whether a tick was requested.
    var isRequested: Bool { if case .requested = turn { true } else { false } }

    /// Notes that a requested tick will not come. Returns true if the caller must run the jobs elsewhere.
    mutating func leaveService() -> Bool {
        guard case .requested = turn else { return false }
        turn = .elsewhere
        return true
    }
}

/// The queue of an executor, behind a lock.
///
/// It is `@unchecked Sendable` because only `locked` touches `queue`, while it holds the mutex, and only `Sendable`
/// values enter or leave. It is a ``Lock`` without that one's price: each job would pay for generic calls, and for
/// checks of exclusivity that the mutex makes needless, with a tenth of a task switch.
final class SharedJobQueue: @unchecked Sendable {
    private let mutex = Mutex()
    @safe @exclusivity(unchecked) private var queue = JobQueue()

    /// Runs `body` on the queue. In a forked child, where the mutex may be held for ever, returns `answer` instead.
    @inline(__always) func locked<Result: Sendable>(
        inForkedChild answer: @autoclosure () -> Result,
        _ body: (inout JobQueue) -> Result
    ) -> Result {
        if mutex.isOfAnotherProcess { return answer() }
        mutex.acquire()
        defer { mutex.release() }
        return body(&queue)
    }
}
