internal import PreciseTimer

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
