#if Instrument && DEBUG
import Foundation
import Testing

@testable import BackendComparison

/// Figures and comparisons of rows.
@Suite struct ReportTests {
    /// Each figure with its range, from the lowest percentile to the worst lateness. A p50 of 1000 ns had a p99 of
    /// 999.5 ns, the middle of a bucket; and a row that shares one lap with its base had that of the base's other laps.
    @Test func aPercentileIsNeverBelowALowerOne() throws {
        let bimodal: [Int64] = (0..<40).map { $0 % 2 == 0 ? 30_000 : 3_000_000 }
        let measured: [[MeasuredRow]] = [
            Synthetic.rows + [Synthetic.steady("dispatch", at: [Int64](repeating: 1000, count: 40), deadlines: 200)],
            [
                Synthetic.steady("timerfd", at: [1007], deadlines: 200),
                Synthetic.steady("hybrid", at: [1000], deadlines: 5),
            ],
            [("timerfd", [10, 1_000_000]), ("hybrid", [10])].map { Synthetic.steady($0.0, at: $0.1, deadlines: 200) },
            [("timerfd", bimodal), ("hybrid", bimodal.reversed())]
                .map { Synthetic.steady($0.0, at: $0.1, deadlines: 200) },
            (1...6).map { Synthetic.row("\($0)", lateness: 40_000, laps: 12, tail: 9_000, share: 0.1, seed: $0) },
        ]
        for row in measured.flatMap({ Synthetic.report(of: $0).rows }) {
            let known = [row.p50, row.p90, row.p99, row.p999].compactMap(\.self)
            let values = known.map(\.value) + [row.worst].compactMap(\.self)
            let intervals = known.compactMap(\.interval)
            let series = [values, intervals.map(\.lowerBound), intervals.map(\.upperBound)]
            #expect(series == series.map { $0.sorted() }, "\(row.key)")
            #expect(known.allSatisfy { $0.interval?.contains($0.value) ?? true }, "\(row.key)")
        }
    }

    /// The column p50 is of the same numbers as the verdict. Here a third of timerfd's turns are slow, so its pooled
    /// median is far from that of its laps.
    @Test func theShownMiddleIsTheOneOfTheVerdict() throws {
        let slow = Synthetic.row("timerfd", lateness: 400_000, laps: 13).turns
        let quick = Synthetic.row("timerfd", lateness: 40_000, laps: 27).turns
        let rows = [("libevent", 60_000), ("hybrid", 100)].map { Synthetic.row($0.0, lateness: $0.1) }
        let report = Synthetic.report(of: [Synthetic.row("timerfd", of: quick + slow)] + rows)
        for row in report.rows.dropFirst() {
            let (shown, base) = (try #require(row.p50).value, try #require(report.rows[0].p50).value)
            #expect(abs(shown / base / (try #require(row.p50Ratio).estimate.value) - 1) < 1e-9, "\(row.key)")
            #expect(abs((row.difference?.value ?? 0) - (shown - base)) < 1e-6, "\(row.key)")
        }
    }

    /// In each lap, the other row is twice as late: only the base is not exactly known.
    @Test func theRangeOfADifferenceKnowsThatOfTheBase() throws {
        var random = SplitMix64(seed: 4)
        let times = (0..<40).map { _ in Int64.random(in: 20_000..<60_000, using: &random) }
        let rows = [("timerfd", times), ("libevent", times.map { 2 * $0 })]
        let report = Synthetic.report(of: rows.map { Synthetic.steady($0.0, at: $0.1) }).rows
        let (base, tail) = (try #require(report[0].p50?.interval), try #require(report[0].p99?.interval))
        let difference = try #require(report[1].difference?.interval)
        #expect(abs(difference.lowerBound - base.lowerBound) < 1 && abs(difference.upperBound - base.upperBound) < 1)
        let ofTail = try #require(report[1].tailDifference?.interval)
        #expect(abs(ofTail.lowerBound - tail.lowerBound) < 1_000 && abs(ofTail.upperBound - tail.upperBound) < 1_000)
    }

    /// The account of the other threads is a difference of readings, each of which the kernel rounds for itself.
    @Test func noShareOfTheProcessorIsNegative() {
        // With -1 ticks, and so with as many wake-ups and switches.
        let turn = Synthetic.turn([1_000, 1_000], missed: 3, cpu: -0.2)
        #expect([turn.cpu, turn.wakeUps, turn.switches] == [0, 0, 0])
    }

    /// "PARTIAL" did not name the rows that lack something.
    @Test func whatIsMissingIsNamed() {
        var rows = Synthetic.rows
        for place in [3, 4] {
            rows[place].turns.removeLast()
            rows[place].drift = nil
        }
        let stopped = Synthetic.results(rows, isStopped: true)
        let missing = ["stopped after 30 s", "the last lap lacks task-sleep, bare", "no drift for task-sleep, bare"]
        #expect(stopped.missing == missing)
        for place in rows.indices { rows[place].drift = nil }
        #expect(Synthetic.results(rows, isStopped: true).missing.last == "no drift for any row")
        #expect(Synthetic.report.results.missing.isEmpty)
        // They are compared in the laps that all have.
        #expect(Report(stopped).row("task-sleep", load: RowKey.idle)?.p99Ratio?.verdict == .later)
    }
}

/// A row that sleeps for its period: how late it is depends on how long one looks.
@Suite struct RelativeRowTests {
    private static let runaway = Synthetic.runaway()
    private static let report = Synthetic.report(of: [runaway] + Synthetic.rows.reversed())

    /// It is the first row here, and its turns are the earliest.
    @Test func itIsNeitherABaseNorEarlier() {
        #expect(Self.report.results.base(of: RowKey("sleep-for", .relative)) == RowKey("timerfd", .backend))
        let alone = Synthetic.report(of: [Self.runaway, Synthetic.row("dispatch", lateness: 40_000)])
        #expect(alone.rows.map { $0.base?.row } == [nil, nil] && alone.rows.nameOfBase == "dispatch")
        // A row that failed at once is no base either.
        var failed = MeasuredRow(RowKey("timerfd", .backend))
        failed.failure = "no thread"
        let rest = Synthetic.report(of: [failed, Synthetic.row("dispatch", lateness: 40_000), Synthetic.rows[4]])
        #expect(rest.rows.map { $0.base?.row } == [nil, "dispatch"])
        // A period that no row with a grid serves is too short, whatever this one does.
        var late = Synthetic.results(
            [Self.runaway]
                + [("timerfd", 12), ("libevent", 15)].map { Synthetic.row($0.0, lateness: 39_000, missed: $0.1) }
        )
        late.options.period = 10_000
        #expect(Report(late).advice[0].hasPrefix("10 µs is too short a period here"))
    }

    @Test func aSentenceSaysHowItRunsAway() {
        let loads = [Self.runaway, Synthetic.runaway(load: "busy", ppm: 75_000)]
        #expect(
            Synthetic.report(of: loads).advice == [
                "When idle and under busy, sleep-for runs away, by 62 to 75 ms each second and 3.7 to 4.5 s a "
                    + "minute: it sleeps for a period, and not until a deadline."
            ]
        )
        // No sleep ends early, however little is known. But a stretch may be too short to tell.
        #expect(Synthetic.report(of: [Synthetic.runaway(noise: 70_000)]).advice.count == 1)
        var short = Self.runaway
        short.drift = nil
        #expect(Synthetic.report(of: [short]).advice.isEmpty)
    }
}

/// What follows from the figures, and what does not.
@Suite struct AdviceTests {
    private static let enough = "timerfd is good enough: at p50, no other backend is earlier by 0.50 µs or more."

    private func advice(_ rows: [MeasuredRow], machine: MachineState = MachineState(), period: UInt64 = 1_000_000)
        -> [String]
    {
        var results = Synthetic.results(rows, machine: machine)
        results.options.period = period
        return Report(results).advice
    }

    private func advice(_ second: MeasuredRow, busy: Double = 0) -> [String] {
        advice([Synthetic.row("timerfd", lateness: 39_000), second], machine: MachineState(others: busy))
    }

    /// The rows of a default run under a load, each `factor` times as late.
    private func rows(under load: String, factor: Double = 1, hybrid: Double = 9, tail: Double = 0) -> [MeasuredRow] {
        [
            Synthetic.row("timerfd", load: load, lateness: 40_000 * factor, cpu: 2),
            Synthetic.row("dispatch", load: load, lateness: 50_000 * factor, tail: tail, share: 0.2, cpu: 2),
            Synthetic.row("libevent", load: load, lateness: 50_000 * factor, tail: tail, share: 0.2, cpu: 2),
            Synthetic.row("hybrid", load: load, lateness: 100, cpu: hybrid),
        ]
    }

    @Test func theDefaultIsEnoughUnlessTheDifferenceMatters() {
        let later = advice(Synthetic.row("dispatch", lateness: 60_000))
        #expect(later == [Self.enough, "At p99, dispatch is later than timerfd."])
        // A price is named only if it is one: it was "the cheapest" for 2.91 against 2.99 %.
        #expect(advice(Synthetic.row("libevent", lateness: 30_000))[0].hasSuffix("; libevent is 9.3 µs earlier."))
    }

    /// "timerfd is enough: no other row is earlier by p50" stood below a bare loop that was earlier.
    @Test func whatIsNotNamedIsNoBackendOrEarlierByLessThanHalfAMicrosecond() {
        // A coarse clock can show a lateness of zero.
        let zero = ("hybrid", RowKey.Kind.backend, Int64(0))
        let rows =
            [("bare", .bare, 30_000), ("libevent", .backend, 38_501), ("libevent", .backend, 38_499), zero]
            as [(String, RowKey.Kind, Int64)]
        let reports = rows.map { name, kind, lateness in
            let base = Synthetic.steady("timerfd", at: [Int64](repeating: 39_000, count: 40))
            return Synthetic.report(of: [
                base, Synthetic.steady(name, kind, at: [Int64](repeating: lateness, count: 40)),
            ])
        }
        #expect(reports.allSatisfy { $0.rows[1].p50Ratio?.verdict == .earlier })
        #expect(reports.map { $0.advice[0] == Self.enough } == [true, true, false, false])
    }

    /// Two rows are told with what they save and cost, in the order of that; of more, the names are enough.
    @Test func theTwoRowsThatSaveMostAreDescribedAndMoreAreNamed() {
        var rows = [
            Synthetic.row("timerfd", lateness: 80_000), Synthetic.row("libevent", lateness: 40_000),
            Synthetic.row("hybrid", lateness: 120, cpu: 9),
        ]
        let two =
            "timerfd is good enough unless such differences matter; hybrid is 79 µs earlier and costs 8 % of a core; "
        #expect(advice(rows)[0] == two + "libevent is 40 µs earlier.")
        #expect(advice(rows)[1] == "At p99, libevent and hybrid are earlier than timerfd.")
        rows.append(Synthetic.row("dispatch", lateness: 60_000))
        #expect(advice(rows)[0].hasSuffix(" µs earlier; dispatch is also earlier."))
        rows.append(Synthetic.row("runloop", lateness: 55_000))
        #expect(advice(rows)[0].hasSuffix(" µs earlier; runloop and dispatch are also earlier."))
        #expect(advice(rows)[1] == "At p99, libevent, hybrid, dispatch and runloop are earlier than timerfd.")
    }

    /// The row hybrid with a p99 of 23.8 ms and 9.1 % missed, beside timerfd with 68 µs and none, was "Take hybrid".
    @Test func aBetterMiddleDoesNotHideAWorseTail() {
        let sentences = advice(Synthetic.row("hybrid", lateness: 120, missed: 2, cpu: 9))
        let first = /timerfd .+ unless 3\d µs matter; hybrid is 3\d µs earlier and costs 8 % .+, but its p99 .+ later/
        #expect(sentences[0].prefixMatch(of: first) != nil)
        #expect(sentences[0].hasSuffix(", and it missed 10.0 % of its deadlines."))
        #expect(sentences.dropFirst() == ["At p99, hybrid is later than timerfd."])
    }

    /// At 10 µs, with 55 to 78 % missed, "libevent is the cheapest".
    @Test func thePeriodThatNoRowServesIsNamed() {
        let rows = [("timerfd", 12), ("libevent", 15)].map { Synthetic.row($0.0, lateness: 39_000, missed: $0.1) }
        // A row that catches up misses nothing, and is late for all.
        let sleeper = Synthetic.row("task-sleep", .peer, lateness: 3_000_000)
        let impossible =
            "10 µs is too short a period here: every row missed more than 5 % of its deadlines, or was a whole period "
            + "late."
        for rows in [rows, rows + [sleeper]] {
            let sentences = advice(rows, period: 10_000)
            #expect(sentences[0] == impossible && !sentences.joined().contains("enough"))
        }
        #expect(advice(rows + [Synthetic.row("hybrid", lateness: 120)], period: 10_000)[0].hasPrefix("At p50, hybrid"))
    }

    @Test func aBusyMachineIsAReasonToRepeat() {
        let equal = Synthetic.row("libevent", lateness: 39_000, seed: 2)
        let open = [Self.enough, "At p99, no row differs measurably from timerfd."]
        #expect(advice(equal) == open)
        #expect(advice(equal, busy: 97) == open + ["The machine was busy: repeat when it is idle."])
    }

    @Test func fewLapsGiveNoAdvice() {
        let few = Synthetic.pair(laps: 7)
        #expect(advice(few) == ["There are too few laps to compare the rows: measure longer (--time)."])
        #expect(advice([few[0]]).isEmpty)
        let loads = few + Synthetic.pair(load: "busy", laps: 7)
        let both = "When idle and under busy, there are too few laps to compare the rows: measure longer (--time)."
        #expect(advice(loads) == [both])
    }

    /// "Under busy: By p99 dispatch, task-sleep, bare later than timerfd." had a capital in its middle, and no verb.
    @Test func conclusionsUnderSeveralLoadsAreJoinedIfTheyAreEqual() {
        let under = rows(under: RowKey.idle) + rows(under: "busy", factor: 0.5, hybrid: 7)
        let enough =
            "When idle and under busy, timerfd is good enough unless 20 to 39 µs matter; hybrid is 20 to 39 µs earlier "
            + "and costs 5 to 7 % of a core."
        let tail = "at p99, hybrid is earlier than timerfd, and dispatch and libevent are later."
        #expect(advice(under) == [enough, "When idle and under busy, \(tail)"])
        let three = under + rows(under: "cpu:2", factor: 50, hybrid: 2)
        let most =
            "When idle and under busy and cpu:2, timerfd is good enough unless 20 µs to 2.0 ms matter; hybrid is 20 µs "
            + "to 2.0 ms earlier and costs up to 7 % of a core."
        #expect(advice(three, period: 10_000_000) == [most, "When idle and under busy and cpu:2, \(tail)"])
        // One load is named, unless it is idle.
        let earlier = "timerfd is good enough unless 39 µs matter; hybrid is 39 µs earlier and costs 7 % of a core."
        #expect(advice(rows(under: "busy")) == ["Under busy, \(earlier)", "Under busy, \(tail)"])
    }

    @Test func otherConclusionsUnderALoadAreOneSentenceEach() {
        let equal = ["timerfd", "libevent"].map { Synthetic.row($0, load: "busy", lateness: 40_000) }
        let sentences = [
            "When idle, timerfd is good enough unless 39 µs matter; hybrid is 39 µs earlier and costs 7 % of a core.",
            "Under busy, \(Self.enough)",
            "When idle, at p99, hybrid is earlier than timerfd, and dispatch and libevent are later.",
            "Under busy, at p99, no row differs measurably from timerfd.",
        ]
        #expect(advice(rows(under: RowKey.idle) + equal) == sentences)
    }
}

/// How busy the machine was, and what follows.
@Suite struct MachineStateTests {
    private static func state(_ stops: UInt64, of periods: UInt64, others: Double = 1, waiting: Double? = nil)
        -> MachineState
    {
        var state = MachineState(others: others, waiting: waiting, stolen: 0, loadAverage: 1.3)
        state.quota = QuotaStops(limit: 0.05, periods: periods, stops: stops, share: 72.4)
        return state
    }

    private static let first = "the quota of 0.05 processors stopped this process in 51 of 66 periods"
    private static let unknown = " How long others waited is unknown: the kernel also counts such stops as waiting."
    private static let quiet = "other programs used 1 % of the processors, and other guests of the host took 0 %."

    /// A load of programs of ours, which hides other programs.
    private static let loads: [(MachineState, loads: [String], sentence: String)] = [
        (MachineState(), ["cpu:2"], "Not measured under a load of other programs."),
        (MachineState(stolen: 4), ["busy"], "Busy: other guests of the host took 4 %."),
        (
            MachineState(others: 3, waiting: 1, stolen: 0.1), ["idle", "busy"],
            "Quiet: other programs used 3 % of the processors in the turns without a load of other programs, and "
                + "other guests of the host took 0 %."
        ),
    ]

    /// A state and the quota of the machine, one line if it matters, and a sentence also if it does not.
    private static let states: [(MachineState, quota: Double?, words: String?, sentence: String)] = [
        (
            // It said "1 of 6 rounds disturbed".
            MachineState(others: 97.2, waiting: 80, stolen: 0, loadAverage: 5.41), nil,
            "BUSY: other programs used 97 % of the processors (load 5.4 on 2)",
            "Busy: other programs used 97 % of the processors (load 5.4 on 2)."
        ),
        (
            MachineState(others: 5, waiting: 30.4, stolen: 4), nil,
            "BUSY: programs waited for a processor 30 % of the time; other guests of the host took 4 %",
            "Busy: programs waited for a processor 30 % of the time, and other guests of the host took 4 %."
        ),
        (MachineState(waiting: 1), nil, nil, "Quiet: programs waited for a processor 1 % of the time."),
        (MachineState(), nil, nil, "Unknown: the kernel does not show what else ran."),
        // The quota of this process is no other program.
        (state(51, of: 66), 0.05, "THROTTLED: \(first)", "Throttled: \(first).\(unknown) Quiet: \(quiet)"),
        (state(51, of: 66, waiting: 3), 0.05, "THROTTLED: \(first)", "Throttled: \(first). Quiet: \(quiet)"),
        (
            state(51, of: 66, others: 97), 0.05,
            "THROTTLED: \(first); BUSY: other programs used 97 % of the processors (load 1.3 on 2)",
            "Throttled: \(first).\(unknown) Busy: other programs used 97 % of the processors (load 1.3 on 2)."
        ),
        (state(0, of: 66), 0.05, nil, "Quiet: \(quiet)"),
        (
            MachineState(others: 1, waiting: 0, stolen: 0), 0.05, nil,
            "The kernel does not show whether its quota stopped this process. Quiet: \(quiet)"
        ),
    ]

    @Test func aStateHasAWordIfItMattersAndASentenceInAnyCase() {
        for (state, quota, words, sentence) in Self.states {
            var host = Synthetic.host
            host.cpuQuota = quota
            #expect(state.words(on: host) == words)
            #expect(state.sentence(on: host) == sentence)
        }
        for (state, loads, sentence) in Self.loads {
            #expect(state.sentence(on: Synthetic.host, under: loads) == sentence)
        }
        var metal = Synthetic.host
        metal.hypervisor = nil
        let alone = MachineState(others: 3, waiting: 1, stolen: 0).sentence(on: metal)
        #expect(alone == "Quiet: other programs used 3 % of the processors.", "no guests of a host")
    }

    @Test func disturbedLapsAreLeftOutForAllRowsAlike() {
        // In the disturbed laps dispatch is earlier by far; in the others it is later.
        func row(_ name: String, _ disturbed: Int64, _ quiet: Int64) -> MeasuredRow {
            Synthetic.steady(name, at: (0..<40).map { $0 < 10 ? disturbed : quiet })
        }
        let laps = (0..<40).map { Lap(waiting: $0 < 10 ? 60 : 0, stolen: 0) }
        let rows = [row("timerfd", 900_000, 40_000), row("dispatch", 50_000, 50_000)]
        let results = Synthetic.results(rows, laps: laps)
        #expect(results.lapsLeftOut == 10)
        let report = Report(results)
        #expect(abs((report.rows[0].p50?.value ?? 0) - 40_000) < 1)
        #expect(abs((report.rows[1].difference?.value ?? 0) - 10_000) < 1)
        #expect((report.rows[0].p99?.value ?? 0) > 800_000, "the tail is of all laps")
        #expect(results.countingLaps(under: "cpu:2").allSatisfy { $0 }, "a load itself looks like a disturbance")
    }
}

/// Measurements that can be compared: they answer one question on one machine.
@Suite struct ComparableTests {
    typealias Change = @Sendable (inout Results) -> Void

    /// Two machines became one table. What one of them does not know does not differ.
    @Test(
        arguments: [
            "the period": { $0.options.period = 2_000_000 }, "the timers": { $0.options.timers = 2 },
            "the place of the handlers": { $0.options.delivery = "queue" }, "the clock": { $0.options.clock = "wall" },
            "the threads": { $0.options.thread = "fifo:80" },
            "the machine": { $0.host = Synthetic.host(machine: "vax") },
            "the processor": { $0.host = Synthetic.host(cpu: nil) },
            "the processors": { $0.host = Synthetic.host(processors: 3) },
            "the build": { $0.host = Synthetic.host(build: .debug) },
            "the usable processors": { $0.host.usableProcessors = 1 }, "the quota": { $0.host.cpuQuota = 0.5 },
            "the governor": { $0.host.governor = "powersave" }, "the clock source": { $0.host.clockSource = "hpet" },
        ] as [String: Change]
    )
    func otherQuestionsAndMachinesDiffer(name: String, change: Change) {
        let first = Synthetic.results(Synthetic.pair(laps: 1))
        var (second, unknown) = (first, first)
        (unknown.host.usableProcessors, unknown.host.governor, unknown.host.clockSource) = (nil, nil, nil)
        #expect(first.difference(from: unknown) == nil)
        change(&second)
        let difference = first.difference(from: second)
        #expect(difference?.hasPrefix("\(name): ") == true && difference?.isOneLine == true)
    }
}
#endif
