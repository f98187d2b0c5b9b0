#if Instrument && DEBUG
import Testing

@testable import BackendComparison

/// Reading needs.
@Suite struct NeedTests {
    @Test(arguments: [
        ("p99 < 200us", "p99<200us"), ("p99 < 200us, cpu < 2%", "  p99<200us ,cpu  <  2 % "),
        ("timerfd.p99.9 < 1ms", nil), ("timerfd@cpu:2.missed < 0.5%", nil), ("drift < 50ppm, drift > 0ppm", nil),
        ("timerfd.wakeups < 1.5", nil), ("timerfd#2.p99 later 0% than timerfd", nil),
        ("timerfd.p50 later 5% than dispatch", "timerfd.p50  later 5 % than dispatch"),
        ("timerfd.p50 later 20% than before.json", nil),
        ("timerfd.p50 later 20% than \"my, 5 %  file.json\", cpu < 2%", nil),
    ])
    func aNeedIsReadAndWrittenWhateverItsSpaces(text: String, other: String?) throws {
        let need = try Need.parse(text)
        #expect(need.description == text)
        #expect(try Need.parse(other ?? need.description).clauses == need.clauses)
    }

    @Test(arguments: [
        ("b.JSON", "b.JSON"), ("\"b.json\"", "b.json"), ("\"my, 5 %  file.Json\"", "my, 5 %  file.Json"),
        ("\"results\"", "results"), ("-", "-"), ("dispatch", nil), ("'b.json'", "b.json"),
        ("\"Eve's run.json\"", "Eve's run.json"), ("Eve's.json", "Eve's.json"),
    ])
    func aFileMayHaveAnyName(word: String, file: String?) throws {
        #expect(try Need.parse("timerfd.p50 later 1 % than \(word), cpu < 2 %").files == [file].compactMap(\.self))
    }

    @Test(arguments: [
        "", "p99", "p99 < ", "p99 < 200", "p99 < 200us,", "p99 <= 200us", "timerfd", "timerfd.max < 1ms", "worst < 1ms",
        "timerfd.p99 < 2%", "cpu < 2us", "cpu < nan%", "cpu < -1%", "timerfd.p95 < 1ms", ".p99 < 1ms", "drift < 5",
        "timerfd.p50 later 5 than dispatch", "timerfd.p50 later 5% then dispatch", "p50 later 5% than dispatch",
        "timerfd.cpu later 5% than dispatch", "timerfd.p99 later 5% than b.json", "timerfd.p50 later -5% than dispatch",
        "timerfd.p50 later 1e5% than dispatch", "p99 < 99999999999999s", "timerfd.p50 later 5% than \u{1B}[2J.json",
        "timerfd.p50 later 5% than \"b.json", "timerfd.p50 later 5% than b c.json",
    ])
    func otherTextsAreRefusedInOneLine(text: String) {
        let problem = #expect(throws: Failure.self) { try Need.parse(text) }
        #expect(problem?.description.contains("\n") == false)
    }
}

/// Needs held against a measurement.
@Suite struct JudgementTests {
    private func judged(_ text: String, _ report: Report = Synthetic.report, earlier: [String: Report] = [:]) throws
        -> Judgement
    { try Judgement(try Need.parse(text), of: report, earlier: earlier) }

    private static func drifting(_ ppm: Double) -> Report {
        Synthetic.report(of: Synthetic.rows(changing: 0) { $0.drift = StretchDrift(ppm: ppm, noise: 3) })
    }

    private static let twins = Synthetic.report(
        of: ["timerfd", "timerfd#2"].map { Synthetic.row($0, of: Synthetic.rows[0].turns) }
    )
    private static let few = Synthetic.report(of: Synthetic.pair(laps: 7))
    private static let broken = Synthetic.report(of: Synthetic.rows(changing: 0) { $0.problem = "early" })
    private static let empty = Synthetic.report(of: Synthetic.rows(changing: 0) { $0.turns = [] })
    private static let runaway = Synthetic.report(of: [Synthetic.runaway()] + Synthetic.rows)

    @Test(
        arguments: [
            ("timerfd.p50 < 60us", .meets, Synthetic.report), ("timerfd.p50 < 20us", .fails, Synthetic.report),
            ("timerfd.p50 > 20us", .meets, Synthetic.report), ("timerfd.cpu < 3%", .meets, Synthetic.report),
            // A figure that is the bound is on neither side of it.
            ("timerfd.cpu < 2%", .fails, Synthetic.report), ("timerfd.cpu > 2%", .fails, Synthetic.report),
            ("timerfd#2.p50 later 0% than timerfd", .meets, twins),
            // A drift to either side is a drift.
            ("timerfd.drift < 50ppm", .fails, drifting(-500)), ("timerfd.drift < 600ppm", .meets, drifting(-500)),
            ("timerfd.drift < 50ppm", .fails, drifting(500)), ("timerfd.drift < 600ppm", .meets, drifting(500)),
            ("timerfd.drift < 2ppm", .undecided, Synthetic.report), ("timerfd.drift < 4ppm", .meets, Synthetic.report),
            // One backend meets both, or some meet each.
            ("p50 < 1us, cpu < 12%", .meets, Synthetic.report),
            ("p50 < 1us, cpu < 5%", .fails, Synthetic.report),
            ("dispatch.p50 later 50% than timerfd", .meets, Synthetic.report),
            ("dispatch.p50 later 1% than timerfd", .fails, Synthetic.report),
            ("hybrid.p50 later 0% than timerfd", .meets, Synthetic.report),
            ("task-sleep.p99 later 100% than timerfd", .fails, Synthetic.report),
            // A bound inside the interval, from 244 to 248 µs.
            ("timerfd.p99 < 246us", .undecided, Synthetic.report),
            ("timerfd.p99 > 246us", .undecided, Synthetic.report),
            // Of 800 deadlines none was missed, and 0.66 % may be.
            ("timerfd.missed < 0.0001%", .undecided, Synthetic.report),
            ("timerfd.missed < 1%", .meets, Synthetic.report),
            // Neither p99 has a range.
            ("hybrid.p99 later 5% than timerfd", .undecided, Synthetic.report(of: Synthetic.pair(laps: 39))),
            ("hybrid.p99 later 5% than timerfd", .meets, Synthetic.report(of: Synthetic.pair(laps: 40))),
            // Without a range there is no verdict.
            ("hybrid.p50 later 5% than timerfd", .undecided, few), ("p50 < 1s", .undecided, few),
            ("timerfd.p50 < 1s", .fails, broken), ("timerfd.p50 < 1s", .undecided, empty),
            ("timerfd.p50 < 1s, hybrid.p50 < 1s", .undecided, empty),
            // A row that runs away is later than any bound, whatever its turns show.
            ("sleep-for.p99 < 1s", .fails, runaway), ("sleep-for.p50 > 1s", .meets, runaway),
            ("sleep-for.missed < 50%", .fails, runaway), ("sleep-for.drift < 50ppm", .fails, runaway),
            ("sleep-for.cpu < 4%", .meets, runaway), ("sleep-for.p50 later 5% than timerfd", .fails, runaway),
            ("p99 < 1s", .meets, runaway),
        ] as [(String, Judgement.Outcome, Report)]
    )
    func aNeedIsMetByTheWholeInterval(text: String, outcome: Judgement.Outcome, report: Report) throws {
        #expect(try judged(text, report).outcome == outcome)
    }

    /// 800 deadlines have a range of p99, 8,000 one of p99.9, and eight laps one of everything.
    @Test(arguments: [
        ("timerfd.p99 < 1s", 39, "p99 [45]\\d µs \\(\\?\\); a range takes about 2 times as long"),
        ("timerfd.p99.9 < 1s", 40, "too few deadlines for p99.9; a range takes about 10 times as long"),
        ("timerfd.p99.9 < 1s", 60, "p99.9 [45]\\d µs \\(\\?\\); a range takes about 7 times as long"),
        ("timerfd.p50 < 1s", 3, "p50 [34]\\d µs \\(\\?\\); a range takes about 3 times as long"),
        ("hybrid.p50 later 5% than timerfd", 7, "too few laps .* p50 .*; a range takes about 2 times as long"),
        ("hybrid.p99 later 5% than timerfd", 10, "too few .* p99 with timerfd; a range takes about 4 times as long"),
    ])
    func anUndecidedNeedWithoutARangeSaysWhatARangeTakes(text: String, laps: Int, reason: String) throws {
        let judgement = try judged(text, Synthetic.report(of: Synthetic.pair(laps: laps)))
        let found = judgement.findings[0].reason
        #expect(judgement.outcome == .undecided)
        #expect(try found.wholeMatch(of: Regex(reason)) != nil, "\(found)")
    }

    /// No measurement is long enough for an account that the kernel does not keep.
    @Test func aMissingAccountIsNotAShortMeasurement() throws {
        let row = Synthetic.row("timerfd", lateness: 39_000, cpu: nil)
        let judgement = try judged("timerfd.cpu < 5%", Synthetic.report(of: [row]))
        #expect(judgement.outcome == .undecided && judgement.findings[0].reason == "the kernel does not show cpu")
    }

    @Test func aBackendMustMeetThemUnderEveryLoad() throws {
        let report = Synthetic.report(of: Synthetic.pair() + Synthetic.pair(load: "busy", base: 900_000))
        let judgement = try judged("p50 < 200us", report)
        #expect(judgement.outcome == .meets)
        #expect(judgement.findings.map(\.name) == ["timerfd", "hybrid", "hybrid@busy", "timerfd@busy"])
        #expect(try judged("timerfd.p50 < 200us", report).outcome == .fails)
    }

    @Test func aRowIsComparedWithAnEarlierFileByTheBareLoop() throws {
        // The whole machine is slower now by half, and timerfd is not later for that.
        let slower = [("timerfd", RowKey.Kind.backend), ("bare", .bare)]
            .map { Synthetic.row($0, $1, lateness: 58_500, tail: 300_000, share: 0.06) }
        let later = [Synthetic.row("timerfd", lateness: 80_000)] + Synthetic.rows.dropFirst()
        var (vax, slow) = (Synthetic.results(Synthetic.rows), Synthetic.results(Synthetic.rows))
        vax.host = Synthetic.host(machine: "vax")
        slow.options.period = 10_000_000
        let before = ["a.json": Synthetic.report]
        let need = "timerfd.p50 later 30% than a.json"
        #expect(try judged(need, Synthetic.report(of: slower), earlier: before).outcome == .meets)
        #expect(try judged(need, Synthetic.report(of: later), earlier: before).outcome == .fails)
        let near = try judged("timerfd.p50 later 8% than a.json", earlier: before)
        #expect(near.outcome == .undecided, "two runs of one program differ more")
        for other in [vax, slow] {
            let foreign = try judged(need, Report(other), earlier: before)
            #expect(foreign.outcome == .undecided)
            #expect(foreign.findings[0].reason.contains("another machine or has other options"))
        }
        #expect(throws: Failure.self) { try judged(need) }
    }

    @Test(arguments: [
        "nobody.p50 < 1s", "timerfd.p50 later 5% than nobody", "timerfd.p50 later 5% than timerfd",
        "bare.p50 later 5% than a.json", "timerfd.p50 later 5% than sleep-for",
    ])
    func aNeedAboutNothingIsRefused(text: String) {
        #expect(throws: Failure.self) { try judged(text, Self.runaway, earlier: ["a.json": Self.runaway]) }
    }
}

/// Lengths of time as a user writes them.
@Suite struct DurationTextTests {
    @Test(arguments: [
        ("500ns", Duration.nanoseconds(500)), ("250us", .microseconds(250)), ("250µs", .microseconds(250)),
        ("1ms", .milliseconds(1)), ("1.5ms", .microseconds(1500)), ("2s", .seconds(2)), ("5m", .seconds(300)),
        ("0.000000001s", .nanoseconds(1)), ("007ms", .milliseconds(7)), ("0s", .zero), ("1.50s", .milliseconds(1500)),
        ("0.5m", .seconds(30)), ("9223372036s", .seconds(9_223_372_036)), ("1.000ns", .nanoseconds(1)),
    ])
    func lengthsAreReadExactly(text: String, length: Duration) throws {
        #expect(try DurationText.parse(text) == length)
    }

    private static let nonsense = [
        "", "1", "ms", "-1ms", "+1ms", " 1ms", "1 ms", "1ms ", "60 hz", "nan", "inf", "1e400", "1e3ms", ".5s", "5.s",
        "1.2.3s", ".", "..s", "0x1s", "1w", "1MS", "١ms", "1,5ms", "1ms\n", "1_000ms",
    ]
    private static let tooLong = [
        "10000000000000000000s", "9223372037s", "99999999999999999999999999ns", "9223372036854775808ns",
    ]
    private static let tooFine = ["0.5ns", "1.0000000001s", "1.0001us"]

    @Test func otherTextsAreRefusedForTheirReason() {
        let refused = [
            (Self.nonsense, DurationText.malformed), (Self.tooLong, DurationText.tooLong),
            (Self.tooFine, DurationText.tooFine),
        ]
        for (texts, reason) in refused {
            for text in texts { #expect(throws: reason, "\(text)") { try DurationText.parse(text) } }
        }
    }

    @Test(arguments: [
        (UInt64(0), "0s"), (999, "999ns"), (1000, "1us"), (1500, "1.5us"), (1_000_000, "1ms"), (1_050_000, "1.05ms"),
        (700_000_000, "700ms"), (2_000_000_000, "2s"), (90_000_000_000, "90s"), (1_000_000_001, "1.000000001s"),
    ])
    func lengthsAreWrittenExactly(nanoseconds: UInt64, text: String) throws {
        let spaced = DurationText.spaced(nanoseconds: nanoseconds)
        #expect(spaced.replacing(" ", with: "").replacing("µ", with: "u") == text)
        #expect(try DurationText.parse(text) == .nanoseconds(Int64(nanoseconds)))
    }
}
#endif
