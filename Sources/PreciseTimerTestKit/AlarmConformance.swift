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

/// The checks of the first five clauses.
extension AlarmConformance {
    func checkHolding(_ bench: AlarmBench) throws {
        try bench.set(in: .seconds(3600))
        try bench.set(in: .milliseconds(5))
        try bench.expectFiring(orElse: "an earlier deadline did not replace a later one")
        try bench.set(in: .milliseconds(5))
        try bench.expectFiring(orElse: "a second deadline, set after a firing, did not fire")

        // A needless firing is allowed, but a second one shows that the alarm still holds the old deadline.
        try bench.set(in: .milliseconds(5))
        try bench.set(in: .seconds(3600))
        bench.expectQuiet(orElse: "the alarm keeps firing for a deadline that was replaced")
        try bench.set(in: .milliseconds(5))
        try bench.disarm()
        bench.expectQuiet(orElse: "the alarm keeps firing after it was disarmed")
        try bench.set(in: .milliseconds(5))
        try bench.expectFiring(orElse: "the alarm stays silent when it is set again after it was disarmed")
    }

    func checkPastDeadlines(_ bench: AlarmBench) throws {
        try bench.set(in: .zero)
        try bench.expectFiring(orElse: "a deadline of the current instant did not fire")
        try bench.set(TimerInstant(nanoseconds: 0, clock: bench.alarm.now.clock))
        try bench.expectFiring(orElse: "a deadline at the clock's origin did not fire")
        // Repeated often, so that a setting coincides with the alarm's own work after a firing.
        for round in 0..<200 {
            try bench.set(in: .microseconds(round % 3 * 20))
            try bench.expectFiring(orElse: "a deadline was lost (round \(round))")
        }
    }

    func checkFiringInsideSet(_ bench: AlarmBench) throws {
        for delay in [Duration.zero, .seconds(3600), .nanoseconds(1), .zero] {
            try bench.set(in: delay)
            bench.let(pass: .milliseconds(2))
        }
        try bench.set(TimerInstant(nanoseconds: 0, clock: bench.alarm.now.clock))
        try bench.expectFiring(orElse: "a past deadline did not fire")
    }

    func checkFiringTwiceAtOnce(_ bench: AlarmBench) throws {
        bench.stayInFirings(for: .milliseconds(5))
        for _ in 0..<20 {
            try bench.set(in: .zero)
            bench.let(pass: .milliseconds(1))
        }
        try bench.expectFiring(orElse: "a past deadline, set during a firing, was lost")
    }

    func checkStopping(_ bench: AlarmBench) throws {
        try bench.set(in: .seconds(3_600))
        bench.alarm.stop()
        bench.alarm.stop()
        bench.forget()
        try bench.set(in: .zero)
        bench.let(pass: .milliseconds(40))
        if bench.firings > 0 { bench.report("the alarm fired after it was stopped") }
        try expectRelease(of: bench, stoppingInside: false)
        try expectRelease(of: bench, stoppingInside: true)
    }

    /// Stops an alarm, sets it once more, and expects that nothing retains it any longer.
    private func expectRelease(of report: AlarmBench, stoppingInside: Bool) throws {
        var second: AlarmBench? = try AlarmBench(self)
        weak let alarm = second?.alarm
        if let bench = second {
            bench.stopInsideFiring(stoppingInside)
            try bench.set(in: .zero)
            try bench.expectFiring(orElse: "a past deadline did not fire")
            bench.forget()
            if !stoppingInside { bench.alarm.stop() }
            try bench.disarm()
            bench.let(pass: .milliseconds(20))
            if stoppingInside, bench.firings > 0 {
                report.report("the alarm fired again after it was stopped from inside a firing")
            }
            for violation in bench.violations { report.report(violation) }
        }
        second = nil
        try report.expect(orElse: "a thread or an object retains the alarm after it was stopped") {
            alarm == nil
        }
    }
}
