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

/// The check of the last clause: an alarm that repeats by itself.
extension AlarmConformance {
    func checkGoingOn(_ bench: AlarmBench) throws {
        try checkEndOfSingleDeadline(bench)
        try checkFirstDeadlines(bench)
        try checkReplacing(bench)
        try checkReplacingInsideFiring(bench)
        try checkStoppingRepetition(bench)
        try checkReleaseOfRepeatingAlarm(bench)
    }

    /// Expects an alarm that does not repeat to behave as if it was set to one deadline.
    private func checkEndOfSingleDeadline(_ bench: AlarmBench) throws {
        let first = bench.alarm.now.advanced(by: .milliseconds(2))
        if try bench.set(first, every: .milliseconds(1)) { return }
        try bench.expectFiring(orElse: "the alarm stays silent for the first deadline, though it does not repeat")
        bench.expectQuiet(orElse: "the alarm repeats by itself, though it said that it does not")
    }

    private func checkFirstDeadlines(_ bench: AlarmBench) throws {
        let now = bench.alarm.now
        // Ten and a half periods ago, at the clock's origin, and in the future.
        let origin = TimerInstant(nanoseconds: 0, clock: now.clock)
        for first in [now.advanced(by: .microseconds(-10_500)), origin, now.advanced(by: .milliseconds(3))] {
            try expectRepetition(of: bench, from: first)
        }
        // With this long period the next deadline comes too late to help: the alarm must fire for the first deadline,
        // even if it also fired early.
        for delay in [Duration.zero, .microseconds(1), .milliseconds(1), .milliseconds(5)] {
            _ = try bench.set(bench.alarm.now.advanced(by: delay), every: .seconds(45))
            try bench.expectFiring(orElse: "the first deadline of a repetition was lost")
        }
        bench.expectQuiet(orElse: "a repetition with a long period did not replace one with a short period")
        // Repeated often, so that a setting coincides with the alarm's own work for the previous repetition.
        for round in 0..<200 {
            let first = bench.alarm.now.advanced(by: .microseconds(round % 3 * 20))
            let message = "a repetition that replaced another did not continue (round \(round))"
            try expectRepetition(of: bench, from: first, every: .microseconds(50), firings: 2, orElse: message)
        }
    }

    private func checkReplacing(_ bench: AlarmBench) throws {
        try expectRepetition(of: bench)
        try bench.disarm()
        bench.expectQuiet(orElse: "the alarm repeats by itself after it was disarmed")
        try expectRepetition(of: bench)
        try bench.set(in: .seconds(3600))
        bench.expectQuiet(orElse: "the alarm repeats by itself after it was set to a far deadline")
        try expectRepetition(of: bench)
        try bench.set(in: .milliseconds(5))
        try bench.expectFiring(orElse: "a deadline that replaced a repetition did not fire")
        bench.expectQuiet(orElse: "the alarm repeats by itself after it was set to a near deadline")
    }

    private func checkReplacingInsideFiring(_ bench: AlarmBench) throws {
        guard try expectRepetition(of: bench) else { return }
        bench.doInsideFiring { [weak bench] in try? bench?.set(in: .seconds(3600)) }
        try bench.expect(orElse: "a repetition ended by itself") { bench.hasActed }
        bench.expectQuiet(orElse: "the alarm repeats by itself after it was set from inside a firing")

        guard try expectRepetition(of: bench) else { return }
        let goesOn = Lock(false)
        bench.doInsideFiring { [weak bench] in
            guard let bench else { return }
            let isRepeating = try? bench.set(bench.alarm.now, every: .milliseconds(2))
            goesOn.withLock { $0 = isRepeating ?? false }
        }
        try bench.expect(orElse: "a repetition ended by itself") { bench.hasActed }
        let firings = goesOn.withLock { $0 } ? 5 : 0
        let violation = "a repetition that was set from inside a firing did not continue"
        try bench.expect(orElse: violation) { bench.dueFirings >= firings }
    }

    private func checkStoppingRepetition(_ bench: AlarmBench) throws {
        try expectRepetition(of: bench)
        bench.alarm.stop()
        bench.expectQuiet(orElse: "the alarm repeats by itself after it was stopped")
        _ = try bench.set(bench.alarm.now, every: .milliseconds(1))
        bench.expectQuiet(orElse: "the alarm repeats by itself if it is set after it was stopped")
    }

    /// Stops a repeating alarm from inside a firing, and expects that nothing retains it any longer.
    private func checkReleaseOfRepeatingAlarm(_ report: AlarmBench) throws {
        var second: AlarmBench? = try AlarmBench(self)
        weak let alarm = second?.alarm
        if let bench = second {
            if try expectRepetition(of: bench) {
                bench.doInsideFiring { [weak bench] in bench?.alarm.stop() }
                try bench.expect(orElse: "a repetition ended by itself") { bench.hasActed }
                bench.expectQuiet(orElse: "the alarm repeats by itself after it was stopped from inside a firing")
            }
            bench.alarm.stop()
            for violation in bench.violations { report.report(violation) }
        }
        second = nil
        try report.expect(orElse: "something retains an alarm that was stopped while it repeated by itself") {
            alarm == nil
        }
    }

    /// Sets the alarm to a repetition. Expects this many firings if the alarm repeats, and otherwise one firing.
    /// Returns whether it repeats.
    @discardableResult private func expectRepetition(
        of bench: AlarmBench,
        from first: TimerInstant? = nil,
        every period: Duration = .milliseconds(1),
        firings: Int = 10,
        orElse violation: String = "the alarm said that it repeats by itself, but does not"
    ) throws -> Bool {
        guard try bench.set(first ?? bench.alarm.now, every: period) else {
            try bench.expectFiring(orElse: "the first deadline of a repetition did not fire")
            return false
        }
        try bench.expect(orElse: violation) { bench.dueFirings >= firings }
        return true
    }
}
