internal import PreciseTimer
internal import TimerAlarms
internal import TimerKernel

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
