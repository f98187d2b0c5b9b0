internal import TimerKernel

/// How long a measurement takes, and whether that is as long as was asked for.
extension MeasurementPlan {
    /// The expected time of one lap.
    var timeOfLap: Duration { request.timeOfLap(deadlinesPerTurn) }

    /// The expected time of the whole measurement. Without a number of laps in the request, it exceeds the time of the
    /// request by no more than ``Request/allowance``.
    var expectedTime: Duration {
        timeOfLap * (laps + (warmsUp ? 1 : 0))
            + (request.period * deadlinesOfStretch + StretchRun.timeBesideDeadlines(request.period))
            * stretches.count
    }

    /// What will run and how long, in one line.
    package var announcement: String {
        let seconds = Int((expectedTime / .seconds(1)).rounded(.up))
        let (rows, loads) = (request.rows.map(\.name), request.loads.map(\.name))
        return "measuring \(rows.joined(separator: ", ")) under \(loads.joined(separator: ", ")) for \(seconds) s"
    }

    /// Whether to begin a lap (from 1), if so much is left of the time for laps.
    func begins(lap: Int, left: Duration) -> Bool {
        if let laps = request.laps { return lap <= laps }
        // To the nearest lap, unless laps are so long that this is far from the time.
        return lap == 1 || timeOfLap - left <= min(timeOfLap / 2, request.allowance)
    }
}

extension MeasurementPlan.Request {
    /// The number of rows in a lap.
    var turns: Int { rows.count * loads.count }

    /// How much longer than asked a measurement may take.
    var allowance: Duration { max(time / 10, .milliseconds(100)) }

    /// The expected time of a lap whose turns have so many deadlines.
    func timeOfLap(_ deadlines: UInt64) -> Duration { timeBesideDeadlines + period * deadlines * turns }

    /// The time that a lap takes with the shortest period.
    private var timeBesideDeadlines: Duration {
        loads.reduce(.zero) { time, load in
            time + (RowRun.preparation(goal: 0, timers: 1) + load.lead + .milliseconds(2)) * rows.count
        }
    }

    /// The most deadlines of a turn that let one lap end in time; 0 if not even one deadline does.
    func mostDeadlines(in time: Duration) -> UInt64 {
        (time - timeBesideDeadlines).wholeNanoseconds / UInt64(turns) / period.wholeNanoseconds
    }

    /// Refuses a period that is too long for the time: if the shortest lap, of one deadline, takes longer. Says what
    /// would fit.
    func checkTime() throws(Failure) {
        let least = timeOfLap(deadlines ?? 1)
        guard laps == nil, least > time + allowance else { return }
        let left = (time - timeBesideDeadlines) / turns / (deadlines ?? 1)
        let asked = [period, time].map(\.text)
        let fitting = [
            least <= Self.longest ? "measure for \(least.rounded(up: true).text) or longer" : nil,
            left >= Self.shortestPeriod ? "take a period of \(left.rounded(up: false).text) or shorter" : nil,
        ]
        .compactMap(\.self)
        let advice = fitting.isEmpty ? "measure for longer, with a shorter period" : fitting.joined(separator: ", or ")
        let row = rows.count == 1 ? "1 row" : "\(rows.count) rows"
        let load = loads.count == 1 ? "" : " under \(loads.count) loads"
        throw .invalid("a period of \(asked[0]) does not fit into \(asked[1]) with \(row)\(load): \(advice)")
    }
}
