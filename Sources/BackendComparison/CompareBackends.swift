internal import Dispatch
internal import FoundationEssentials
public import PreciseTimer
internal import Synchronization

/// Measures how late timers tick on some backends of this machine, and what they cost, as the command
/// `compare-backends` does.
///
/// ```swift
/// import BackendComparison
///
/// let comparison = try await compareBackends([.timerFD, .hybrid], period: .milliseconds(1), for: .seconds(5))
/// print(comparison)
/// let backend = comparison.first { $0.p99 < .microseconds(200) && $0.cpu < 0.02 } ?? .timerFD
/// ```
///
/// In each lap every backend ticks for a short turn of some 20 ms, in random order, so that a disturbance of the
/// machine affects all of them alike. Each turn has a service of its own. In the last third of the time all backends
/// tick at once, which shows their drift. A separate thread measures, and the calling
/// task only waits. Other work of the program makes ticks late and costs processor time, as other programs do: compare
/// before the program begins its work. Comparisons of one process take turns. Measure a release build: a debug build
/// says so in a sentence.
///
/// If the calling task is cancelled, the comparison ends within some 100 ms, with the figures up to then.
///
/// - Parameters:
///   - backends: The backends, in the order of the rows, at least one. A backend that is named again has one row, at
///     its first place. Without this argument, all that this build has, timerfd first: `.runLoop` and `.libevent` if
///     the package traits of their names are on. The others are compared with `.timerFD`, or without it with the first.
///   - period: The time between two deadlines, from 1 µs to a day.
///   - time: How long to measure in total, at most a day. A few seconds are enough for a p50, half a minute for a p99.
///     The shortest comparison is one lap in which each backend serves one deadline, so it must be about as long as one
///     period and some 10 ms for each backend. It is planned to take at most a tenth of the time longer, or a tenth of
///     a second.
///   - progress: Called some ten times a second, on the thread that measures, and at least every 0.2 s while that
///     thread waits. The comparison waits for its return.
/// - Returns: The comparison. If a backend fails during the comparison, the others go on; its row and a warning say so,
///   and ``BackendComparison/first(where:)`` leaves it out.
/// - Throws: `TimerError`: `.invalidOption` for an empty list, for a period or a time that makes no sense, and for a
///   period that does not fit into the time, with one that would; `.unavailable` for a backend that this build does not
///   have, `.backendFailed` if no backend could be measured, and `.cancelled` if the task was cancelled before anything
///   was measured.
public func compareBackends(
    _ backends: [TimerService.Backend] = BackendComparison.availableBackends,
    period: Duration = .milliseconds(1),
    for time: Duration = .seconds(30),
    progress: (@Sendable (BackendComparison.Progress) -> Void)? = nil
) async throws(TimerError) -> BackendComparison {
    for backend in backends {
        guard case .unavailable(let reason) = backend.availability else { continue }
        throw TimerError(.unavailable, "comparing \(backend) (\(reason))")
    }
    guard !backends.isEmpty else { throw TimerError(.invalidOption, "comparing no backends (name at least one)") }
    var request = MeasurementPlan.Request(rows: backends.map { NamedRow(.backend($0)) })
    (request.period, request.time, request.seed) = (period, time, .random(in: 0..<1 << 32))
    return try await compareBackends(request, progress: progress)
}

/// Carries out a request whose rows this build has, such as one with a number of laps.
func compareBackends(
    _ request: MeasurementPlan.Request,
    progress: (@Sendable (BackendComparison.Progress) -> Void)? = nil
) async throws(TimerError) -> BackendComparison {
    let plan: MeasurementPlan
    do throws(Failure) { plan = try MeasurementPlan(request) } catch {
        throw TimerError(.invalidOption, "comparing backends (\(error))")
    }
    let isCancelled = StopFlag()
    let outcome = await withTaskCancellationHandler {
        await alone {
            BackendComparison.measure(plan, progress: { progress?(BackendComparison.Progress($0)) }) {
                !isCancelled.isSet
            }
        }
    } onCancel: {
        isCancelled.set()
    }
    guard let (report, failure) = outcome else { throw TimerError(.cancelled, "comparing backends") }
    let comparison = BackendComparison(report)
    if !comparison.rows.isEmpty { return comparison }
    if let failure { throw TimerError(.backendFailed, "comparing backends (\(failure))") }
    guard report.rows.isEmpty else {
        throw TimerError(.backendFailed, "comparing backends (the system does not show their processor time)")
    }
    throw TimerError(.cancelled, "comparing backends")
}

extension BackendComparison {
    /// The backends that this build has, timerfd first.
    public static var availableBackends: [TimerService.Backend] {
        let others = TimerService.Backend.allCases.filter { $0 != .timerFD }
        return ([.timerFD] + others).filter { $0.availability == .available }
    }

    /// How far a comparison has come.
    public struct Progress: Hashable, Sendable, CustomStringConvertible {
        /// The backend that ticks now; in the last third of the time all of them, with commas in between.
        public let backend: String
        /// The time since the comparison began.
        public let elapsed: Duration
        /// The time that it will take in all. It may take a little longer.
        public let total: Duration
        /// One line with a bar and the seconds that are left, for a terminal.
        public let description: String

        init(_ progress: MeasurementProgress) {
            (backend, elapsed, total) = (progress.row, progress.elapsed, progress.total)
            description = progress.line()
        }
    }
}

extension TimerError.Code {
    /// A comparison of backends was cancelled before anything was measured.
    public static let cancelled = TimerError.Code("cancelled")
}

/// Whether a comparison runs in this process. Two at a time would disturb each other.
private let isRunning = Atomic(false)

/// Runs a body on a thread of its own, alone; nil if the task is cancelled while it waits for another body's end.
private func alone<Outcome: Sendable>(_ body: @escaping @Sendable () -> Outcome) async -> Outcome? {
    while !isRunning.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged {
        do { try await Task.sleep(for: .milliseconds(20)) } catch { return nil }
    }
    defer { isRunning.store(false, ordering: .releasing) }
    return await withCheckedContinuation { waiter in
        DispatchQueue.global(qos: .userInitiated).async { waiter.resume(returning: body()) }
    }
}

/// How the command and ``compareBackends(_:period:for:progress:)`` measure.
extension BackendComparison {
    /// The version that results name.
    package static let version = "0.1.0"

    /// Carries out a plan. The calling thread waits until its end. It calls `progress` some ten times a second,
    /// `goesOn` at least as often, which returns whether to go on, and `ticks` after each turn that counts with a line
    /// for each tick; the first call has the names of their columns. Rows whose threads get none of the plan's wishes
    /// are foreign. Returns the results, maybe none, and why the measurement stopped early; nil if it was
    /// stopped or came to its end.
    package static func measure(
        _ plan: MeasurementPlan,
        foreign: [String] = [],
        ticks: ((String) -> Void)? = nil,
        progress: (MeasurementProgress) -> Void,
        goesOn: () -> Bool
    ) -> (report: Report, failure: Failure?) {
        let start = Date.now
        var measurement = Measurement(plan)
        var (hasEnded, failure) = (false, Failure?.none)
        var pace = ProgressPace()
        let look = { (now: MeasurementProgress) in
            if pace.isDue(at: now.elapsed) { progress(now) }
            return goesOn()
        }
        ticks?(TurnRecord.header)
        do throws(Failure) {
            hasEnded = try measurement.run(goesOn: look) { ticks?($2.lines(of: $1, lap: $0)) }
        } catch { failure = error }
        let host = Host.current
        var results = Results(host: host, origin: Origin(since: start), options: plan.options, rows: measurement.rows)
        (results.machine, results.laps) = (measurement.machine, measurement.laps)
        results.remarks = plan.remarks(foreign: foreign, policies: measurement.policies, on: host)
        results.isStopped = !hasEnded
        return (Report(results), failure)
    }
}

extension Origin {
    /// The origin of a measurement that ends now.
    init(since start: Date) {
        let seconds = (Date.now.timeIntervalSince(start) * 10).rounded() / 10
        self.init(date: start.formatted(.iso8601), seconds: seconds, version: BackendComparison.version)
    }
}
