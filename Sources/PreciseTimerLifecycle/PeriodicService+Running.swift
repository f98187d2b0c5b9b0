#if ServiceLifecycle
internal import Logging
internal import PreciseTimer
internal import ServiceLifecycle
internal import TimerKernel

extension PeriodicService {
    /// Runs the job by its schedule until the program shuts down gracefully, its task is cancelled, or the schedule is
    /// over. Returns when the last run has ended.
    ///
    /// If other code shuts the timer service down, no run comes any more: a warning is logged, and the call returns at
    /// the shutdown. It may be called again when it has returned; the schedule then begins again.
    ///
    /// - Throws: `TimerError` if the schedule makes no sense, if the system refuses a thread or descriptor, if the
    ///   backend fails, or if it is running already; the error of a first run that had to succeed; the error that
    ///   `onError` throws.
    public func run() async throws {
        guard let (schedule, changes) = state.withLock({ $0.beginServing() }) else {
            throw TimerError(.alreadyRunning, "running \(self)")
        }
        defer { state.withLock { $0.endServing() } }
        let (ticks, logger) = (TickHandover(), givenLogger ?? .current)
        let timer = try PreciseTimer.schedule(
            schedule,
            on: service,
            tolerance: tolerance,
            missedTicks: missedTicks,
            label: label,
            paused: firstRun != .scheduled,
            file: file,
            line: line,
            target: ticks,
            onEnd: { ticks.end($0) },
            handler: { ticks, tick in await ticks.hand(over: tick) }
        )
        try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                try await follow(ticks, of: timer, changes, logger)
            } onGracefulShutdown: {
                timer.cancel()
            }
        } onCancel: {
            timer.cancel()
            // The group may end the process if the job does not return: then this line names it.
            guard let start = counts.runningSince else { return }
            logger.warning(
                "cancelled, and waiting for the running job",
                metadata: ["job": "\(self)", "running_ns": "\(start.duration(to: service.now).nanosecondsRoundedUp)"]
            )
        }
    }

    // `changes` is the number of changes of the schedule that the timer follows.
    private func follow(
        _ ticks: TickHandover,
        of timer: PreciseTimer,
        _ changes: Int,
        _ logger: Logger
    ) async throws {
        var failure: (any Error)?
        if firstRun != .scheduled, !isEnding {
            let mustSucceed = firstRun == .atStartOrFail
            failure = await failureOfRun(.atStart(service.now), mustSucceed: mustSucceed, logger)
        }
        if failure == nil { failure = failureOfBeginning(timer, firstRun == .scheduled ? changes : nil) }
        if failure != nil { timer.cancel() }
        // To the end, even if the task is cancelled: each handler is let go.
        for await news in ticks.news {
            switch news {
            case .tick(let tick, let isOver):
                if failure == nil, !isEnding { failure = await failureOfRun(tick, logger) }
                if failure != nil { timer.cancel() }
                isOver.resume()
            case .end(let reason):
                if failure == nil { try await end(reason, logger) }
            }
        }
        if let failure { throw failure }
    }

    /// Lets the current schedule begin, unless the timer follows it already. Returns the error of one that was set
    /// before that, and makes no sense.
    private func failureOfBeginning(_ timer: PreciseTimer, _ known: Int?) -> TimerError? {
        var known = known
        while let schedule = state.withLock({ $0.scheduleToFollow(timer, &known) }) {
            // A resume alone would move an alignment by the length of the pause.
            do throws(TimerError) { try timer.reschedule(schedule) } catch {
                // The end of a timer has its own news.
                return timer.hasEnded ? nil : error
            }
            timer.resume()
        }
        return nil
    }

    private var isEnding: Bool { Task.isCancelled || Task.isShuttingDownGracefully }

    /// Runs the job once. Returns the error that ends the service; nil if it goes on.
    private func failureOfRun(
        _ tick: PreciseTimer.Tick,
        mustSucceed: Bool = false,
        _ logger: Logger
    ) async -> (any Error)? {
        let start = service.now
        state.withLock { $0.counts.begin(tick, at: start) }
        do {
            try await job(tick)
            noteEnd(.success)
            return nil
        } catch is CancellationError where isEnding {
            noteEnd(.cancelled)
            return nil
        } catch {
            let failuresInARow = noteEnd(.failure(error))
            logger.error(
                "periodic job failed",
                error: error,
                metadata: ["job": "\(self)", "failures_in_a_row": "\(failuresInARow)"]
            )
            if mustSucceed { return error }
            do { try await onError?(error) } catch { return error }
            return nil
        }
    }

    /// Counts a run. Returns how many have failed in a row.
    @discardableResult private func noteEnd(_ outcome: Outcome) -> Int {
        state.withLock { $0.counts.end(outcome) }
    }

    /// What the end of the timer means.
    private func end(_ reason: PreciseTimer.EndReason, _ logger: Logger) async throws {
        switch reason {
        case .backendFailed(let error): throw error
        case .serviceShutDown where !isEnding:
            // To return now would look to the group like a service that fails, also in a shutdown of the timers before
            // this service.
            logger.warning("no job runs any more: the timer service was shut down", metadata: ["job": "\(self)"])
            try? await gracefulShutdown()
        default: break
        }
    }
}

/// How a run ended.
private enum Outcome {
    case success
    case failure(any Error)
    /// With its task.
    case cancelled
}

extension PeriodicService.Counts {
    fileprivate mutating func begin(_ tick: PreciseTimer.Tick, at instant: TimerInstant) {
        missed += tick.missed
        runningSince = instant
    }

    /// Returns how many runs have failed in a row.
    fileprivate mutating func end(_ outcome: Outcome) -> Int {
        (runs, runningSince) = (runs + 1, nil)
        switch outcome {
        case .success: failuresInARow = 0
        case .failure(let error):
            (failures, failuresInARow, lastError) = (failures + 1, failuresInARow + 1, error)
        case .cancelled: break
        }
        return failuresInARow
    }
}

extension PreciseTimer.Tick {
    /// The tick of a run for which no deadline has come.
    fileprivate static func atStart(_ instant: TimerInstant) -> Self { Self(deadline: instant, isExtra: true) }
}

extension TimerError.Code {
    fileprivate static let alreadyRunning = Self("already running")
}

/// Hands the ticks of a timer to the task of a service. The handler of a tick returns when the task has dealt with it,
/// so that the timer counts the deadlines that pass during it, and a fixed delay begins then.
final class TickHandover: Sendable {
    enum News: Sendable {
        /// A tick, and the handler that waits for the end of its run.
        case tick(PreciseTimer.Tick, isOver: CheckedContinuation<Void, Never>)
        /// No tick comes any more.
        case end(PreciseTimer.EndReason)
    }

    /// For one task, which must read it to the end.
    let news: AsyncStream<News>
    private let sender: AsyncStream<News>.Continuation

    init() { (news, sender) = AsyncStream.makeStream() }

    /// Waits for the end of the tick's run.
    func hand(over tick: PreciseTimer.Tick) async {
        await withCheckedContinuation { isOver in
            // A cancelled task reads no more.
            if case .terminated = sender.yield(.tick(tick, isOver: isOver)) { isOver.resume() }
        }
    }

    func end(_ reason: PreciseTimer.EndReason) {
        sender.yield(.end(reason))
        sender.finish()
    }
}
#endif
