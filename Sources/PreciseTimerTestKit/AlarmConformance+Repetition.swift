internal import PreciseTimer
internal import TimerAlarms

/// The check of the last clause: an alarm that goes on by itself.
extension AlarmConformance {
    func checkGoingOn(_ bench: AlarmBench) throws {
        try checkEndOfSingleDeadline(bench)
        try checkFirstDeadlines(bench)
        try checkReplacing(bench)
        try checkReplacingInsideFiring(bench)
        try checkStoppingRepetition(bench)
        try checkReleaseOfRepeatingAlarm(bench)
    }

    /// An alarm that does not go on behaves as if it was set to one deadline.
    private func checkEndOfSingleDeadline(_ bench: AlarmBench) throws {
        let first = bench.alarm.now.advanced(by: .milliseconds(2))
        if try bench.set(first, every: .milliseconds(1)) { return }
        try bench.expectFiring(orElse: "the alarm stays silent for the first deadline, though it does not go on")
        bench.expectQuiet(orElse: "the alarm goes on by itself, though it said that it does not")
    }

    private func checkFirstDeadlines(_ bench: AlarmBench) throws {
        let now = bench.alarm.now
        // A multiple of the period and half of one ago, and at the clock's origin.
        let origin = TimerInstant(nanoseconds: 0, clock: now.clock)
        for first in [now.advanced(by: .microseconds(-10_500)), origin, now.advanced(by: .milliseconds(3))] {
            try expectRepetition(of: bench, from: first)
        }
        // Too long a period to be saved by the next deadline: the first one must be fired for, early firing or not.
        for delay in [Duration.zero, .microseconds(1), .milliseconds(1), .milliseconds(5)] {
            _ = try bench.set(bench.alarm.now.advanced(by: delay), every: .seconds(45))
            try bench.expectFiring(orElse: "the first deadline of a repetition was lost")
        }
        bench.expectQuiet(orElse: "a repetition with a long period did not replace one with a short period")
        // Often enough to meet a setting that crosses the alarm's own work for the repetition before.
        for round in 0..<200 {
            let first = bench.alarm.now.advanced(by: .microseconds(round % 3 * 20))
            let message = "a repetition that replaced another did not go on (round \(round))"
            try expectRepetition(of: bench, from: first, every: .microseconds(50), firings: 2, orElse: message)
        }
    }

    private func checkReplacing(_ bench: AlarmBench) throws {
        try expectRepetition(of: bench)
        try bench.disarm()
        bench.expectQuiet(orElse: "the alarm goes on by itself after it was disarmed")
        try expectRepetition(of: bench)
        try bench.set(in: .seconds(3600))
        bench.expectQuiet(orElse: "the alarm goes on by itself after it was set to a far deadline")
        try expectRepetition(of: bench)
        try bench.set(in: .milliseconds(5))
        try bench.expectFiring(orElse: "a deadline that replaced a repetition did not fire")
        bench.expectQuiet(orElse: "the alarm goes on by itself after it was set to a near deadline")
    }

    private func checkReplacingInsideFiring(_ bench: AlarmBench) throws {
        guard try expectRepetition(of: bench) else { return }
        bench.doInsideFiring { [weak bench] in try? bench?.set(in: .seconds(3600)) }
        try bench.expect(orElse: "a repetition ended by itself") { bench.hasActed }
        bench.expectQuiet(orElse: "the alarm goes on by itself after it was set from inside a firing")

        guard try expectRepetition(of: bench) else { return }
        let goesOn = Lock(false)
        bench.doInsideFiring { [weak bench] in
            guard let bench else { return }
            let isRepeating = try? bench.set(bench.alarm.now, every: .milliseconds(2))
            goesOn.withLock { $0 = isRepeating ?? false }
        }
        try bench.expect(orElse: "a repetition ended by itself") { bench.hasActed }
        let firings = goesOn.withLock { $0 } ? 5 : 0
        let violation = "a repetition that was set from inside a firing did not go on"
        try bench.expect(orElse: violation) { bench.dueFirings >= firings }
    }

    private func checkStoppingRepetition(_ bench: AlarmBench) throws {
        try expectRepetition(of: bench)
        bench.alarm.stop()
        bench.expectQuiet(orElse: "the alarm goes on by itself after it was stopped")
        _ = try bench.set(bench.alarm.now, every: .milliseconds(1))
        bench.expectQuiet(orElse: "the alarm goes on by itself if it is set after it was stopped")
    }

    /// Stops an alarm from inside a firing, while it goes on by itself, and expects that nothing holds it any longer.
    private func checkReleaseOfRepeatingAlarm(_ report: AlarmBench) throws {
        var second: AlarmBench? = try AlarmBench(self)
        weak let alarm = second?.alarm
        if let bench = second {
            if try expectRepetition(of: bench) {
                bench.doInsideFiring { [weak bench] in bench?.alarm.stop() }
                try bench.expect(orElse: "a repetition ended by itself") { bench.hasActed }
                bench.expectQuiet(orElse: "the alarm goes on by itself after it was stopped from inside a firing")
            }
            bench.alarm.stop()
            for violation in bench.violations { report.report(violation) }
        }
        second = nil
        try report.expect(orElse: "something holds the alarm after it was stopped while it went on by itself") {
            alarm == nil
        }
    }

    /// Sets the alarm to a repetition, and expects some firings of it if the alarm goes on, or else one. Returns whether it
    /// goes on.
    @discardableResult
    private func expectRepetition(
        of bench: AlarmBench,
        from first: TimerInstant? = nil,
        every period: Duration = .milliseconds(1),
        firings: Int = 10,
        orElse violation: String = "the alarm said that it goes on by itself, and does not"
    ) throws -> Bool {
        guard try bench.set(first ?? bench.alarm.now, every: period) else {
            try bench.expectFiring(orElse: "the first deadline of a repetition did not fire")
            return false
        }
        try bench.expect(orElse: violation) { bench.dueFirings >= firings }
        return true
    }
}
