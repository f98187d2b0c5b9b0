internal import Dispatch
public import PreciseTimer
internal import TimerKernel

/// Runs tasks and actors on a timer service's thread, one job at a time, in the order in which the jobs arrive.
///
/// ```swift
/// let service = try TimerService(.hybrid)
/// let executor = TimerExecutor(on: service)
/// Task(executorPreference: executor) {
///     var next = service.now
///     while true {
///         next = next.advanced(by: .milliseconds(1))
///         try await service.clock.sleep(until: next)      // comes back on the service's thread
///         model.step()
///     }
/// }
/// ```
///
/// An actor runs there if it returns ``unownedExecutor`` as its own:
///
/// ```swift
/// actor Controller {
///     let executor: TimerExecutor                         // keep it: the next line does not retain it
///     nonisolated var unownedExecutor: UnownedSerialExecutor { executor.unownedExecutor }
///
///     init(on executor: TimerExecutor) { self.executor = executor }
/// }
/// ```
///
/// A job is a task's code between two suspensions. While it runs, the service's timers are late, and while jobs are
/// waiting, at most 64 of them run before the service looks at its timers again. The priorities of tasks do not change
/// the order.
///
/// No job is lost. If the service ends, by a shutdown or a failure, the executor's jobs run in the threads of Dispatch
/// from then on, still one at a time and in order. A shared service starts again instead. In a forked child jobs do not
/// run, as with Dispatch.
///
/// Tasks hold the executor while they run, and the executor holds the service. All members may be used from any thread.
public final class TimerExecutor: TaskExecutor, CustomStringConvertible, CustomReflectable {
    /// The most jobs that run before the service looks at its timers again. With fewer, the jobs take longer. A turn
    /// ends sooner if a timer is due after eight jobs.
    private static var jobsInATurn: Int { 64 }
    /// The name of the timer that runs the jobs.
    package static var label: String { "the jobs of an executor" }

    /// The service on whose thread the jobs run.
    public let service: TimerService
    /// The clock of the service, if it is a real one: of virtual time there is none.
    let realClock: TimerClock?
    let site: (file: StaticString, line: UInt)
    let queue = SharedJobQueue()
    private let timer = Lock<PreciseTimer?>(nil)
    private let face = ActorFace()

    /// Creates an executor on a service. If the service has ended or cannot start, the jobs run as after its end.
    ///
    /// - Parameters:
    ///   - service: the service. Its thread runs the jobs; if it is attached to a host's loop or queue, the host does.
    ///   - file: the file that `TimerService.activeTimers` names.
    ///   - line: the line that `TimerService.activeTimers` names.
    public convenience init(on service: TimerService, file: StaticString = #fileID, line: UInt = #line) {
        self.init(on: service, hasRealTime: true, file, line)
    }

    /// The same on any time.
    package init(on service: TimerService, hasRealTime: Bool, _ file: StaticString = #fileID, _ line: UInt = #line) {
        (self.service, site) = (service, (file, line))
        realClock = hasRealTime ? service.now.clock : nil
        unsafe face.executor = self
        _ = makeTimer()
    }

    deinit { timer.withLock(inForkedChild: nil) { $0.take() }?.cancel() }

    /// The executor of an actor that runs here. An actor does not retain it: it must hold the `TimerExecutor`.
    ///
    /// `assumeIsolated` and `preconditionIsolated` of such an actor accept all code that runs one at a time with its
    /// jobs: the other jobs of this executor, and the inline handlers of the service's timers.
    public var unownedExecutor: UnownedSerialExecutor { unsafe face.asUnownedSerialExecutor() }

    /// How many jobs came from other threads than the one that runs the jobs and the service's inline handlers.
    ///
    /// On virtual time, a `Task.sleep` and a handler that runs elsewhere count, too. There 0 says that nothing went on
    /// outside of virtual time, so that the run is exact and repeatable.
    public var strays: Int { queue.locked(inForkedChild: 0) { $0.strays } }

    /// Adds a job. Called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) { add(QueuedJob(job: UnownedJob(job), kind: .task)) }

    /// The service, as in `executor on timerfd service, suspending clock, 3 timers`.
    public var description: String {
        let title = service.description.prefix { $0 != "\n" }
        let isTicking = timer.withLock(inForkedChild: nil) { $0 }?.state == .scheduled
        return "executor on \(title)\(isTicking ? "" : ", which has ended")"
    }

    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The way of a job.
extension TimerExecutor {
    /// Makes the timer that runs the jobs; nil if the service has ended.
    private func makeTimer() -> PreciseTimer? {
        let new = try? PreciseTimer.schedule(
            .onDemand,
            on: service,
            label: Self.label,
            file: site.file,
            line: site.line,
            target: self,
            onEnd: { [weak self] _ in if let self, hasWaitingJobs { requestTurn() } },
            handler: { executor, _ in executor.takeTurn() }
        )
        let previous = timer.withLock(inForkedChild: nil) { timer in
            defer { timer = new }
            return timer
        }
        previous?.cancel()
        return new
    }

    /// Counts something else that left the service's thread.
    package func noteStray() { queue.locked(inForkedChild: ()) { $0.noteStrays(1) } }

    /// Does not count the next job that comes from elsewhere.
    package func expectStray() { queue.locked(inForkedChild: ()) { $0.noteStrays(-1) } }

    /// How many jobs have arrived.
    package var jobs: Int { queue.locked(inForkedChild: 0) { $0.count } }

    /// Whether the calling thread runs jobs, or an inline handler of the service, so that no other job can run.
    var isHere: Bool {
        let thread = ThreadID.current
        return queue.locked(inForkedChild: false) {
            $0.isHere(thread, isInRound: service.roundThread == thread.number)
        }
    }

    func add(_ job: QueuedJob) {
        let thread = ThreadID.current
        let mustRequest = queue.locked(inForkedChild: false) {
            $0.add(job, from: thread, isInRound: service.roundThread == thread.number)
        }
        if mustRequest { requestTurn() }
    }

    /// Adds a job inside a round of the service, and runs it there unless other jobs wait.
    func run(_ job: QueuedJob) {
        let isNext = queue.locked(inForkedChild: false) { $0.add(job, from: .current, isInRound: true) && $0.begin() }
        if isNext { runJobs() }
    }

    private func requestTurn() {
        let timer = timer.withLock(inForkedChild: nil) { $0 }
        if timer?.fire() == true { return }
        // A shared service that was shut down starts again.
        if makeTimer()?.fire() == true { return }
        if queue.locked(inForkedChild: false, { $0.leaveService() }) { takeTurnElsewhere() }
    }

    private func takeTurn() {
        if queue.locked(inForkedChild: false, { $0.begin() }) { runJobs() }
    }

    /// Whether jobs wait for a tick.
    package var hasWaitingJobs: Bool { queue.locked(inForkedChild: false) { $0.isRequested } }

    /// Runs jobs in a thread of Dispatch, as soon as no inline handler of the service runs.
    private func takeTurnElsewhere() {
        let pool = DispatchQueue.global()
        pool.async { [self] in
            if service.roundThread != 0 {
                pool.asyncAfter(deadline: .now() + .milliseconds(1)) { self.takeTurnElsewhere() }
            } else if queue.locked(inForkedChild: false, { $0.begin(elsewhere: true) }) {
                runJobs()
            }
        }
    }

    private func runJobs() {
        for number in 1...Self.jobsInATurn {
            // In a child that was forked in a job, there is none.
            guard let job = queue.locked(inForkedChild: nil, { $0.next() }) else { return }
            switch job.kind {
            case .task: unsafe job.job.runSynchronously(on: asUnownedTaskExecutor())
            case .actor: unsafe job.job.runSynchronously(on: unownedExecutor)
            case .actorInTask:
                unsafe job.job.runSynchronously(isolatedTo: unownedExecutor, taskExecutor: asUnownedTaskExecutor())
            case .sleep: unsafe job.job.runSynchronously(on: .generic)
            }
            if number % 8 == 0, let deadline = service.nextWakeTime, deadline <= service.now { break }
        }
        if queue.locked(inForkedChild: false, { $0.endTurn() }) { requestTurn() }
    }
}

/// The executor that actors see. It is an object of its own, because the runtime takes a class that is both a task
/// executor and a serial one for two different places, and hops from one to the other.
private final class ActorFace: SerialExecutor {
    // Set once, before any other thread knows the face.
    nonisolated(unsafe) unowned var executor: TimerExecutor?

    func enqueue(_ job: consuming ExecutorJob) { unsafe executor?.add(QueuedJob(job: UnownedJob(job), kind: .actor)) }

    func isIsolatingCurrentContext() -> Bool? { unsafe executor?.isHere }
}

extension UnownedSerialExecutor {
    /// No executor, as code without isolation has it: the first word is the object, which is null.
    fileprivate static var generic: Self { unsafe unsafeBitCast((0, 0), to: Self.self) }
}
