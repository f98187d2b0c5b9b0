public import PreciseTimer
internal import TimerAlarms
internal import TimerKernel

/// Checks an alarm against the contract of `TimerAlarm`, clause by clause.
///
/// You can check your own alarms, too: call it from a test, with any test library, and expect no violations.
///
/// ```swift
/// let conformance = AlarmConformance { try MyAlarm() }
/// for clause in AlarmConformance.Clause.allCases {
///     #expect(conformance.violations(of: clause) == [])
/// }
/// ```
///
/// On a real clock a check takes up to a few tenths of a second. An alarm fails if it stays silent for ten seconds,
/// but never for being late.
public struct AlarmConformance: Sendable {
    /// The clauses of the contract.
    public enum Clause: Int, CaseIterable, Sendable {
        /// It holds one deadline: `set` replaces it, nil disarms.
        case holdsOneDeadline = 1
        /// A deadline at or before now fires promptly and is never lost.
        case firesForPastDeadlines
        /// It never fires inside `set`.
        case neverFiresInsideSet
        /// It may fire early or needlessly, but two firings never overlap.
        case neverFiresTwiceAtOnce
        /// After `stop` no new firing begins; `stop` works from inside a firing.
        case stopIsFinal
        /// If it says that it repeats by itself, it fires for each period until it is set again or stopped.
        case goesOnIfItSaysSo
    }

    let makeAlarm: @Sendable () throws -> any TimerAlarm
    let patience: Duration
    let elapse: @Sendable (any TimerAlarm, Duration) -> Void

    /// Creates checks for the alarms that a closure makes. Each alarm must be new and not yet started.
    ///
    /// - Parameters:
    ///   - patience: how long an alarm may stay silent before it counts as not firing.
    ///   - elapse: lets a length of the alarm's time pass. The default, nil, sleeps, which suits an alarm on a
    ///     real clock.
    ///   - makeAlarm: makes an alarm.
    public init(
        patience: Duration = .seconds(10),
        elapse: (@Sendable (any TimerAlarm, Duration) -> Void)? = nil,
        makeAlarm: @escaping @Sendable () throws -> any TimerAlarm
    ) {
        self.patience = patience
        self.elapse = elapse ?? { _, duration in KernelClock.sleep(for: duration) }
        self.makeAlarm = makeAlarm
    }

    /// The alarm's violations of a clause, in words; empty if there are no violations.
    public func violations(of clause: Clause) -> [String] {
        do {
            let bench = try AlarmBench(self)
            defer { bench.alarm.stop() }
            switch clause {
            case .holdsOneDeadline: try checkHolding(bench)
            case .firesForPastDeadlines: try checkPastDeadlines(bench)
            case .neverFiresInsideSet: try checkFiringInsideSet(bench)
            case .neverFiresTwiceAtOnce: try checkFiringTwiceAtOnce(bench)
            case .stopIsFinal: try checkStopping(bench)
            case .goesOnIfItSaysSo: try checkGoingOn(bench)
            }
            return bench.violations
        } catch let silence as AlarmBench.Silence {
            return [silence.violation]
        } catch {
            return ["the alarm refused: \(error)"]
        }
    }
}
