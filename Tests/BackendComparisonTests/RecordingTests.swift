#if Instrument && DEBUG
import Dispatch
import PreciseTimer
import TestSupport
import Testing

@testable import BackendComparison

@Suite struct RecordingTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1000)

    /// Ticks of a grid of 1,000 ns: index, lateness and missed deadlines. What the recording makes of them: ticks,
    /// missed, early, misplaced, the deadlines that have passed, and the problem.
    private static let cases: [([(UInt64, Int64, UInt64)], [Int], UInt64, String?)] = [
        ([(0, 5, 0), (1, 0, 0), (2, 999, 0), (3, 7, 0)], [4, 0, 0, 0], 4, nil), ([(0, 0, 0)], [1, 0, 0, 0], 1, nil),
        // A stall, counted, and not counted.
        ([(0, 10, 0), (1, 3500, 3), (5, 10, 0)], [3, 3, 0, 0], 6, nil),
        ([(0, 3500, 2)], [1, 2, 0, 0], 4, "1 ticks + 2 missed are not the 4 deadlines passed"),
        ([(0, 5, 0), (1, -1, 0), (2, 5, 0)], [3, 0, 1, 0], 3, "1 of 3 ticks came before their deadline"),
        ([(0, 5, 0), (2, 5, 0)], [2, 0, 0, 1], 3, "1 of 2 ticks were not for the next deadline of the grid"),
        // More ticks than the goal.
        ((0..<12).map { ($0, 5, 0) }, [10, 0, 0, 0], 10, nil),
    ]

    @Test(arguments: cases.indices) func ticksAddUp(_ index: Int) {
        let (ticks, counts, passed, problem) = Self.cases[index]
        var recording = Recording(of: deadlines, goal: 10)
        for (index, lateness, missed) in ticks {
            recording.record(Recorded.arrival(index, of: deadlines, lateness: lateness, missed: missed))
        }
        let found = [recording.ticks, Int(recording.missed), recording.early, recording.misplaced]
        #expect(found == counts)
        #expect(recording.passed == passed...passed)
        #expect(recording.problem == problem)
        #expect(recording.samples.map(\.lateness) == ticks.prefix(10).map(\.1))
        #expect(recording.accounted == UInt64(counts[0] + counts[1]))
        #expect(recording.isComplete == (counts[0] == 10))
    }

    @Test func deadlinesThatPassDuringAHopMayBeMissedOrStillToCome() {
        let areSound = (0...4 as ClosedRange<UInt64>)
            .map { missed in
                var recording = Recording(of: deadlines, goal: 10)
                var arrival = Recorded.arrival(0, of: deadlines, lateness: 3500, missed: missed)
                arrival.woke = deadlines.start + 1200
                recording.record(arrival)
                return recording.passed == 2...4 && recording.problem == nil
            }
        #expect(areSound == [false, true, true, true, false])
    }

    @Test func aDeadlineBesideTheGridIsMisplaced() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Recorded.arrival(0, of: deadlines, lateness: 5)
        arrival.deadline = arrival.deadline + 1
        recording.record(arrival)
        #expect(recording.misplaced == 1)
    }

    /// A call is for the oldest deadline without a tick, or each call is for the next deadline. A sample has its index,
    /// its lateness and its missed deadlines.
    @Test(
        arguments: [
            (.deadlines, [5, 3500, 4010], [[0, 5, 0], [1, 2500, 2], [4, 10, 0]]),
            (.calls, [5, 3500, 3600], [[0, 5, 0], [1, 2500, 0], [2, 1600, 0]]), (.deadlines, [-7], [[0, -7, 0]]),
        ] as [(Recording.Counting, [Int64], [[Int64]])]
    )
    func aCallIsForADeadline(_ counting: Recording.Counting, at times: [Int64], samples: [[Int64]]) {
        var recording = Recording(of: deadlines, goal: 10)
        for time in times {
            recording.record(at: TimerInstant(nanoseconds: UInt64(Int64(Recorded.start) + time)), counting)
        }
        #expect(recording.samples.map { [Int64($0.index), Int64($0.lateness), Int64($0.missed)] } == samples)
        #expect(recording.early == (times[0] < 0 ? 1 : 0))
    }
}

/// Recordings with known results.
enum Recorded {
    /// Deadline 0 of all recordings, in nanoseconds.
    static let start: UInt64 = 1_000_000_000

    /// A tick for every deadline, with its lateness in nanoseconds.
    static func recording(_ latenesses: [Int64], period: UInt64 = 1_000_000) -> Recording {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: start), period: period)
        var recording = Recording(of: deadlines, goal: UInt64(latenesses.count))
        for (index, lateness) in latenesses.enumerated() {
            recording.record(arrival(UInt64(index), of: deadlines, lateness: lateness))
        }
        return recording
    }

    /// A tick for a deadline, with the same reading of the clock at the wake-up and at the handler.
    static func arrival(
        _ index: UInt64,
        of deadlines: Deadlines,
        lateness: Int64,
        missed: UInt64 = 0
    ) -> Recording.Arrival {
        let deadline = deadlines[index]
        let now = TimerInstant(nanoseconds: UInt64(Int64(deadline.nanoseconds) + lateness))
        return Recording.Arrival(index: index, deadline: deadline, missed: missed, woke: now, delivered: now)
    }
}

extension TimerInstant {
    /// The instant some nanoseconds later.
    static func + (instant: TimerInstant, nanoseconds: UInt64) -> TimerInstant {
        instant.advanced(by: .nanoseconds(nanoseconds))
    }
}

/// Recording ticks on any thread.
@Suite(.works("threads record at the same time")) struct ProbeTests {
    /// An array that grows, or that is shared, would move.
    @Test(arguments: [Recording.Counting.calls, .deadlines])
    func recordingMovesNothingInMemory(_ counting: Recording.Counting) {
        let probe = Probe(Deadlines(start: TimerClock.suspending.now, period: 1000), goal: 1000)
        let before = Self.address(of: probe.result)
        while probe.record(at: TimerClock.suspending.now, counting) {}
        #expect(probe.result.accounted >= 1000)
        #expect(Self.address(of: probe.result) == before)
    }

    /// A turn once lacked the cause of its last tick.
    @Test func aCompleteProbeHasTheCauseOfItsLastTick() throws {
        for _ in 0..<200 {
            let deadlines = Deadlines(start: TimerClock.suspending.now, period: 1_000_000)
            let watch = LateWatch(threshold: 0)
            let probe = Probe(deadlines, goal: 1, watch: watch)
            let tick = deadlines.start.advanced(by: .milliseconds(1))
            try Thread.start("test.handler") { _ = probe.record(at: tick, .calls) }
            while !probe.progress.isComplete {}
            try #require(watch.late.count == 1)
        }
    }

    /// The address of the room for the first sample.
    private static func address(of recording: Recording) -> UInt {
        unsafe recording.samples.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}

@Suite struct TurnRecordTests {
    private let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1000)

    private func row(_ turn: TurnRecord, _ kind: RowKey.Kind = .backend) -> MeasuredRow {
        var row = MeasuredRow(RowKey("timerfd", kind))
        row.add(turn)
        return row
    }

    /// Coordinated omission: without the missed deadlines, a row that skips would look early. Here, ninety punctual
    /// ticks, then one that is 9.5 periods late and carries nine more deadlines.
    @Test func missedDeadlinesAreAsLateAsTheTickThatCarriesThem() {
        var recording = Recording(of: deadlines, goal: 100)
        for index in 0..<UInt64(90) { recording.record(Recorded.arrival(index, of: deadlines, lateness: 10)) }
        recording.record(Recorded.arrival(90, of: deadlines, lateness: 9500, missed: 9))
        let turn = TurnRecord(recordings: [recording])
        #expect(turn.latenesses.suffix(11) == [10, 500, 1500, 2500, 3500, 4500, 5500, 6500, 7500, 8500, 9500])
        let row = row(turn)
        #expect(row.turns.count == 1 && row.turns[0].missed == 9 && row.turns[0].median == 10 && row.problem == nil)
        #expect(row.lateness.count == 100 && row.ticks.count == 91)
        #expect(abs(row.lateness.percentile(95) - 4500) <= 90)
    }

    @Test func latenessIsSplitAtTheWakeUp() {
        var recording = Recording(of: deadlines, goal: 10)
        var arrival = Recorded.arrival(0, of: deadlines, lateness: 900)
        arrival.woke = deadlines[0] + 300
        recording.record(arrival)
        #expect(abs(row(TurnRecord(recordings: [recording])).hop.percentile(100) - 600) < 12)
    }

    @Test func pointsOfSeveralTimersAreInTheOrderOfDeadlines() {
        let recordings = [UInt64(0), 500]
            .map { offset in
                let deadlines = Deadlines(start: deadlines.start + offset, period: 1000)
                var recording = Recording(of: deadlines, goal: 2)
                for index in 0..<UInt64(2) {
                    recording.record(Recorded.arrival(index, of: deadlines, lateness: Int64(offset) + 1))
                }
                return recording
            }
        let turn = TurnRecord(recordings: recordings)
        #expect(turn.start == Recorded.start)
        #expect(turn.points.map { [Int64($0.time), $0.lateness] } == [[0, 1], [500, 501], [1000, 1], [1500, 501]])
        let others = [[], [-5]].map { TurnRecord(recordings: [Recorded.recording($0, period: 1000)]).elapsed }
        #expect(turn.elapsed == 3001 && others == [0, 1000])
        // Of an even number, the median is the lower of the two in the middle.
        #expect(row(turn).lateness.count == 4 && row(turn).turns[0].median == 1)
    }

    @Test func theProblemOfATimerIsThatOfTheTurnAndAPeerHasNone() {
        let turn = TurnRecord(recordings: [Recorded.recording([5]), Recorded.recording([-5])])
        #expect(turn.problem == "1 of 1 ticks came before their deadline")
        #expect(row(turn).problem != nil && row(turn).early == 1)
        #expect(row(turn, .peer).problem == nil)
    }

    @Test(arguments: [("timerfd=3", [15, 21]), ("timerfd=+1us/100%", [1_005, 1_007])] as [(String, [Int64])])
    func aPlantedChangeIsAFactorOrADelay(text: String, latenesses: [Int64]) throws {
        let turn = TurnRecord(recordings: [Recorded.recording([5, 7])])
        #expect(try turn.changed(by: Planted.parse(text)).latenesses == latenesses)
    }

    @Test func otherTextsThanAPlantedChangeAreRefused() {
        for text in ["", "timerfd", "timerfd=", "timerfd=x", "timerfd=0", "timerfd=+800us", "timerfd=+x/3%"] {
            #expect(throws: Failure.self) { try Planted.parse(text) }
        }
    }
}

struct SampleLinesTests {
    @Test func everyTickIsALine() {
        let deadlines = Deadlines(start: TimerInstant(nanoseconds: Recorded.start), period: 1_000_000)
        var recording = Recording(of: deadlines, goal: 10)
        recording.record(Recorded.arrival(0, of: deadlines, lateness: 55_123))
        var arrival = Recorded.arrival(2, of: deadlines, lateness: 3_500_000, missed: 3)
        arrival.woke = TimerInstant(nanoseconds: arrival.delivered.nanoseconds - 1000)
        recording.record(arrival)
        let turn = TurnRecord(recordings: [recording, Recorded.recording([0])])
        let key = RowKey("timerfd#2", .backend, load: "cpu:2")
        #expect(
            TurnRecord.header + turn.lines(of: key, lap: 3) == """
                lap,row,load,timer,index,deadline_ns,wake_lateness_ns,lateness_ns,missed
                3,timerfd#2,cpu:2,1,0,1000000000,55123,55123,0
                3,timerfd#2,cpu:2,1,2,1002000000,3499000,3500000,3
                3,timerfd#2,cpu:2,2,0,1000000000,0,0,0

                """
        )
    }
}

/// What held up a late tick.
@Suite struct LateWatchTests {
    @Test func theCauseExplainsHalfOfTheLateness() {
        // Of a thread whose tick was late by 1,000 ns: running, waiting, spinning, whether time was stolen, and the
        // exit from an idle state.
        let cases: [(UInt64, UInt64, UInt64, Bool, UInt64?, LateTicks.Cause)] = [
            (0, 500, 0, false, 0, .waited), (0, 499, 0, false, 0, .stalled), (500, 0, 0, false, 0, .worked),
            (499, 0, 0, false, 0, .stalled), (0, 0, 0, false, 500, .idle), (0, 0, 0, false, 499, .stalled),
            (0, 0, 0, true, 0, .stolen),
            // Spinning is no work.
            (900, 0, 401, false, 0, .stalled), (900, 0, 400, false, 0, .worked), (100, 0, 400, false, 0, .stalled),
            // What the kernel measured counts before what may have been.
            (900, 900, 0, true, 900, .waited), (900, 0, 0, true, 900, .worked), (0, 0, 0, true, 900, .stolen),
            // An account that is not shown is no cause.
            (0, 0, 0, false, nil, .stalled),
        ]
        let found = cases.map { running, waiting, spin, isStolen, idleExit, _ in
            let end = ThreadAccount(thread: 1, running: 70 + running, waiting: 30 + waiting)
            return cause(to: end, spin: spin, isStolen: isStolen, longestIdleExit: idleExit)
        }
        #expect(found == cases.map(\.5))
    }

    /// Another thread's account, or that of a later thread with the number of an ended one, says nothing.
    @Test func theFirstTickOfAThreadIsNotExplained() {
        let others: [ThreadAccount?] = [
            ThreadAccount(thread: 2, running: 70, waiting: 930), ThreadAccount(thread: 1, running: 3, waiting: 30),
        ]
        #expect(others.allSatisfy { cause(to: $0, isStolen: true, longestIdleExit: 900) == .unseen })
        let first = LateTicks.Cause(of: 1000, from: nil, to: start, isStolen: true, longestIdleExit: 900)
        #expect(first == .unseen)
        // A sandbox may hide the account from every tick, also from those that are not the first.
        #expect(cause(to: nil, isStolen: true, longestIdleExit: 900) == .unshown)
        let hidden = LateTicks.Cause(of: 9, from: nil, to: nil, isStolen: false, longestIdleExit: 9)
        #expect(hidden == .unshown)
    }

    /// Dispatch's workers take turns.
    @Test func aThreadThatReturnsIsNotOnItsFirstTick() {
        let watch = LateWatch(threshold: 1000)
        watch.note(lateness: 0, at: 1_000_000)
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global()
            .async {
                watch.note(lateness: 0, at: 2_000_000)
                done.signal()
            }
        done.wait()
        watch.note(lateness: 2000, at: 3_000_000)
        #expect(watch.late.count == 1)
        #expect(watch.late[.unseen] == 0)
    }

    /// The words of a guess say so.
    @Test func causesThatNothingShowsAreWordedAsGuesses() {
        let guesses: [LateTicks.Cause] = [.stolen, .idle]
        #expect(LateTicks.Cause.allCases.filter { $0.words.hasPrefix("maybe ") } == guesses)
    }

    @Test func theWatchKnowsItsOwnCost() throws {
        let watch = LateWatch(threshold: 1000)
        let start = try #require(ResourceUsage.ofAllThreads)
        for tick in 0..<200 { watch.note(lateness: 0, at: UInt64(1 + tick)) }
        let all = try #require(ResourceUsage.ofAllThreads) - start
        let cost = try #require(watch.usage)
        #expect(cost.cpuNanoseconds > 0)
        #expect(cost.cpuNanoseconds <= all.cpuNanoseconds)
    }

    private let start = ThreadAccount(thread: 1, running: 70, waiting: 30)

    /// The kernel counts the threads that a quota stops as threads that wait. It stops new threads, too.
    @Test func aQuotaThatStoppedTheProcessForHalfOfTheLatenessIsTheCause() {
        let waited = ThreadAccount(thread: 1, running: 70, waiting: 930)
        let cases: [(UInt64?, ThreadAccount?, LateTicks.Cause)] = [
            (500, waited, .throttled), (500, nil, .throttled), (499, waited, .waited), (0, waited, .waited),
            (nil, waited, .waited), (499, nil, .unshown),
        ]
        #expect(cases.map { cause(to: $0.1, throttled: $0.0) } == cases.map(\.2))
    }

    @Test func theGroupThatWasStoppedLongestCounts() {
        func account(_ nanoseconds: UInt64) -> Throttling { Throttling(periods: 9, stops: 9, nanoseconds: nanoseconds) }
        let cases: [([Throttling?], [Throttling?], UInt64?)] = [
            ([account(5), account(100)], [account(25), account(110)], 20),
            ([nil, account(1)], [account(9), account(4)], 3),
            ([account(1)], [nil], nil), ([], [account(7)], nil), ([account(9)], [account(7)], nil), ([], [], nil),
        ]
        #expect(cases.map { LateWatch.longestStop(from: $0.0, to: $0.1) } == cases.map(\.2))
    }

    private func cause(
        to end: ThreadAccount?,
        spin: UInt64 = 0,
        throttled: UInt64? = nil,
        isStolen: Bool = false,
        longestIdleExit: UInt64? = nil
    ) -> LateTicks.Cause {
        .init(
            of: 1000,
            from: start,
            to: end,
            spin: spin,
            throttled: throttled,
            isStolen: isStolen,
            longestIdleExit: longestIdleExit
        )
    }

    @Test func deadlinesThatOneWaitHeldUpHaveOneCause() throws {
        let watch = LateWatch(threshold: 1_000_000)
        watch.note(lateness: 0, at: TimerClock.suspending.nanoseconds)
        // A stall of the whole machine is neither work nor waiting.
        let start = try #require(ThreadAccount.current)
        var last = start
        while last.running + last.waiting < start.running + start.waiting + 20_000_000 {
            last = try #require(ThreadAccount.current)
        }
        let now = TimerClock.suspending.nanoseconds
        // Three deadlines passed while the thread worked. It serves them one after the other.
        for tick in 0..<3 { watch.note(lateness: 15_000_000 - Int64(tick) * 1_000_000, at: now + UInt64(tick)) }
        #expect(watch.late.count == 3)
        // On a busy machine, the thread waits for its processor in the middle of the work.
        #expect(watch.late[.worked] + watch.late[.waited] == 3, "\(watch.late.words)")
    }

    /// What makes a row without a grid late is the row itself.
    @Test(.works("a turn measures real ticks")) func everyTickAboveTheThresholdIsCounted() throws {
        let asked = [NamedRow(.bare(.timerFD)), NamedRow(.taskSleep(.forPeriod))]
        let rows = try [Duration.zero, .seconds(3600), nil].map { why in try Short.measure(asked) { $0.why = why } }
        #expect(rows.map { $0[0].late?.count } == [Int(rows[0][0].ticks.count), 0, nil])
        #expect(rows.allSatisfy { $0[1].late == nil })
    }
}
#endif
