import ResultsSupport
import Testing
import TimerResults

/// What rows obtained of the system, and what limited their spinning.
struct GrantTests {
    private static let refusal = Grant.Answer.refused(
        reason: "the system refused it (errno 1: no)",
        advice: "Ask less."
    )

    private static func results(
        _ grants: [Grant],
        system: [String]? = nil,
        spin: SpinCuts? = nil,
        latenesses: [Int64] = [5, 7, 9, 5]
    ) -> Results {
        let cells = [
            Synthetic.cell(Synthetic.key("timerfd"), latenesses),
            Synthetic.cell(Synthetic.key("hybrid"), latenesses, spin: spin),
        ]
        let plain = Synthetic.results([cells])
        var options = plain.options
        options.system = system
        return Results(hosts: plain.hosts, options: options, grants: grants, rounds: plain.rounds)
    }

    @Test func rowsWithOneReasonStandTogether() {
        let grant = Grant(
            "--realtime fifo:80",
            [("a", .obtained), ("b", Self.refusal), ("c", .none), ("d", Self.refusal), ("e", .obtained)]
        )
        #expect(grant.obtained == ["a", "e"])
        #expect(grant.refused.map(\.rows) == [["b", "d"]])
    }

    @Test func optionsThatTheSameRowsObtainedShareALine() {
        let grants = [
            Grant(asked: "--realtime fifo:80", obtained: ["timerfd", "hybrid"]),
            Grant(asked: "--affinity 1", obtained: ["timerfd", "hybrid"]),
            Grant(asked: "--cpu-budget 5%", obtained: ["hybrid"]),
        ]
        #expect(
            Self.results(grants).obtainedOptions == [
                "Obtained for every row: --realtime fifo:80, --affinity 1", "Obtained for hybrid: --cpu-budget 5%",
            ]
        )
        #expect(Self.results(grants).allRemarks.isEmpty)
        // An option that does not concern a row was not refused to it.
        let twoOfThree = [Grant(asked: "--cpu-budget 5%", obtained: ["hybrid", "hybrid#2"])]
        #expect(Self.results(twoOfThree).obtainedOptions == ["Obtained for hybrid, hybrid#2: --cpu-budget 5%"])
        #expect(Self.results([]).obtainedOptions.isEmpty)
    }

    @Test func aRefusedOptionIsARemarkWithItsReasonAndAdvice() {
        let answers = [("timerfd", Self.refusal), ("hybrid", Self.refusal)]
        let grants = [Grant("--realtime fifo:80", answers), Grant("--realtime rr:1", answers)]
        #expect(
            Self.results(grants).allRemarks.map(\.description) == [
                "--realtime fifo:80, --realtime rr:1: nothing for timerfd, hybrid, since the system refused it "
                    + "(errno 1: no). Ask less"
            ]
        )
    }

    @Test func resultsWithOtherSystemOptionsAnswerAnotherQuestion() {
        let (plain, asked) = (Self.results([]), Self.results([], system: ["--affinity 1"]))
        #expect(plain.difference(from: asked) == "no system options and --affinity 1")
        #expect(plain.difference(from: plain) == nil)
        #expect(asked.difference(from: asked) == nil)
        #expect(throws: Problem.self) { try Results.merged([plain, asked]) }
    }

    @Test func resultsThatObtainedMoreAreNotMerged() throws {
        func results(_ answer: Grant.Answer, _ lateness: Int64) -> Results {
            let grant = Grant("--affinity 1", [("timerfd", answer)])
            return Self.results([grant], system: ["--affinity 1"], latenesses: [lateness, 9])
        }
        let (more, less) = (results(.obtained, 5), results(Self.refusal, 6))
        #expect(more.difference(from: less) == "timerfd obtained --affinity 1 in one of them only")
        #expect(throws: Problem.self) { try Results.merged([more, less]) }
        let merged = try Results.merged([more, results(.obtained, 7)])
        #expect(merged.grants == more.grants)
    }

    @Test func bothBuildsSayWhatTheyObtained() throws {
        let grant = Grant("--affinity 1", [("timerfd", .obtained), ("hybrid", Self.refusal)])
        let results = Self.results([grant])
        let both = try LapOfBuilds(this: results, other: results).grants
        #expect(both.map(\.obtained) == [["timerfd", "other:timerfd"]])
        #expect(both.first?.refused.map(\.rows) == [["hybrid", "other:hybrid"]])
    }

    @Test(
        arguments: [
            (nil, nil), (0, 0), (3, 75), (4, 100), (400, 100),
        ] as [(UInt64?, Double?)]
    )
    func cutsAreAShareOfTheDeadlines(cuts: UInt64?, percent: Double?) throws {
        let report = Report(Self.results([], spin: cuts.map { SpinCuts(cuts: $0) }))
        let figure = try #require(Figure.all.first { $0.name == "cut" })
        #expect(report.rows.map { figure($0) } == [nil, percent])
        let line =
            "hybrid: the CPU budget shortened the spin before \(Int(percent ?? 0)) % of the deadlines (--cpu-budget)"
        #expect(report.shortenedSpins == (percent ?? 0 > 1 ? [line] : []))
    }

    @Test func oneCutInAHundredIsNotWorthALine() {
        let latenesses = [Int64](repeating: 5, count: 200)
        for (cuts, count) in [(UInt64(2), 0), (3, 1)] {
            let report = Report(Self.results([], spin: SpinCuts(cuts: cuts), latenesses: latenesses))
            #expect(report.shortenedSpins.count == count)
        }
    }

    @Test func aRowThatCannotSpinIsRemarkedOnOnce() {
        let results = Self.results([], spin: SpinCuts(cuts: 0, obstacle: "there is one processor"))
        #expect(results.allRemarks.map(\.description) == ["hybrid: no spinning, since there is one processor"])
    }

    @Test func cutsOfLapsAreAddedUp() {
        var cuts = SpinCuts(cuts: 2)
        cuts.add(SpinCuts(cuts: 3, obstacle: "it stood still"))
        #expect(cuts == SpinCuts(cuts: 5, obstacle: "it stood still"))
    }
}
