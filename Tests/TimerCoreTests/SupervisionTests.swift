import PreciseTimer
import Testing
import TimerKernel

// The values behind the care of services: sweeps for released targets, the reaper, and silent alarms.

/// How many timers a sweep for released targets covers.
struct SweepQuotaTests {
    @Test func aSweepCoversAQuarterOfTheTimersOfTheLastFourButNoFewerThanFourThousand() {
        let quotas = [[1_000_000, 400_000, 400_000, 400_000, 400_000], [16_385], [10_000], [100]]
            .map { counts in
                var quota = SweepQuota()
                return counts.map { quota.next(of: $0) }
            }
        #expect(quotas == [[250_000, 250_000, 250_000, 250_000, 100_000], [4_097], [4_096], [100]])
    }
}

/// When a sweep for released targets has used its processor time.
struct SweepBudgetTests {
    @Test(arguments: [50, 100, 1_000, 10_000] as [UInt64])
    func aSweepOfTimersThatGoOnTakesLessThanAHundredthOfASecond(price: UInt64) {
        let time = UInt64(sweep(250_000, price: price).reduce(0, +)) * price
        #expect((8_000_000..<10_000_000 + 256 * price).contains(time) && time < 250_000 * price)
    }

    /// A million released targets must not wait for a hundred sweeps, however long `onEnd` takes.
    @Test func partsThatEndTimersAreFree() {
        #expect(sweep(256_000, price: 10_000, ends: { _ in true }).reduce(0, +) == 256_000)
        #expect(sweep(1_024, price: 1_000_000, ends: { $0 == 0 }).reduce(0, +) == 512)
        let paying = sweep(250_000, price: 1_000).count
        #expect(sweep(250_000, price: 1_000, ends: { $0 % 2 == 0 }).count == 2 * paying)
    }

    @Test func aRefusedReadingAndATimeThatGoesBackUseNothing() {
        #expect(sweep(250_000, price: 1_000, isTold: false).reduce(0, +) == 250_000)
        var budget = SweepBudget(for: 1_000)
        let parts = [1_000_000_000, 0, 7_999_999, 8_000_000].map { budget.next(at: $0, endedTimers: false) }
        #expect(parts == [256, 256, 256, nil])
    }

    /// The sizes of the parts of a sweep, each of whose timers takes `price` nanoseconds. `isTold` is false if the
    /// system refuses to tell the processor time, and `ends` says whether the part with a number ends timers.
    private func sweep(
        _ quota: Int,
        price: UInt64,
        isTold: Bool = true,
        ends: (Int) -> Bool = { _ in false }
    ) -> [Int] {
        var (budget, parts, time, endedTimers) = (SweepBudget(for: quota), [Int](), UInt64(5_000_000_000), false)
        while let part = budget.next(at: isTold ? time : nil, endedTimers: endedTimers) {
            #expect(part > 0)
            endedTimers = ends(parts.count)
            parts.append(part)
            time += UInt64(part) * price
        }
        return parts
    }
}

/// When another thread takes the reaper's place.
struct ReaperDutyTests {
    private var duty = ReaperDuty()

    init() { duty.pass(to: 1) }

    @Test mutating func aReaperIsStuckIfTwoChecksFindItAtOneService() {
        #expect(findings(3) == [false, false, false], "it has not begun")
        #expect(findings(3) { _ = $0.enter(1) } == [false, false, false], "another service each time")
        #expect(findings(3) == [true, true, true], "until another thread has its place")
        #expect(findings(3) { _ = $0.leave(1) } == [false, false, false])
    }

    @Test mutating func aReaperThatWasReplacedHasNoDuty() {
        #expect([duty.enter(1), duty.enter(2)] == [true, false])
        #expect(findings(2) == [false, true])
        duty.pass(to: 2)
        #expect(findings(2) == [false, false], "the new one has not begun")
        #expect([duty.enter(1), duty.leave(1), duty.enter(2), duty.leave(2)] == [false, false, true, true])
    }

    /// What some checks find, one after another.
    private mutating func findings(_ count: Int, before each: (inout ReaperDuty) -> Void = { _ in }) -> [Bool] {
        (0..<count)
            .map { _ in
                each(&duty)
                return duty.findsStuck()
            }
    }
}

private let second: UInt64 = 1_000_000_000

/// A check of an alarm by its watchdog.
private struct Check {
    private var watchdog = AlarmWatchdog()
    /// From 0.
    private(set) var number: UInt64 = 0
    private var now: UInt64 = 0
    private(set) var finding = AlarmWatchdog.Finding.onTime

    var isSilent: Bool { if case .late(_, isSilent: true, _) = finding { true } else { false } }
    var limps: Bool { if case .late(_, _, limps: true) = finding { true } else { false } }

    mutating func hasFailed(heldUpBy holdUp: HoldUp?, limps: Bool = false) -> Bool {
        watchdog.hasFailed(heldUpBy: holdUp, limps: limps, at: now)
    }

    /// The numbers of the checks that find something. `overdue` is the instant for which the alarm is overdue at each,
    /// and `length` the time between two in nanoseconds; in between, the process may stop once.
    static func all(
        _ count: UInt64 = 200,
        every length: UInt64 = second,
        stopsAt stop: UInt64 = .max,
        overdue: (UInt64) -> UInt64? = { _ in 7 },
        where isFound: (inout Check) -> Bool
    ) -> [UInt64] {
        var check = Check()
        return (0..<count)
            .filter { number in
                (check.number, check.now) = (number, 40 * second + number * length + (number < stop ? 0 : 600 * second))
                check.finding = check.watchdog.finding(overdue: overdue(number), at: check.now)
                return isFound(&check)
            }
    }
}

/// The difference between a silent alarm and a late one.
struct AlarmWatchdogTests {
    @Test(
        arguments: [
            (second, 5), (second * 9 / 10, 5), (second / 10, 45), (1_000, nil), (60 * second, 5),
        ] as [(UInt64, UInt64?)]
    )
    func anAlarmIsSilentAtTheSixthCheckAndAfterFourAndAHalfSeconds(length: UInt64, first: UInt64?) {
        #expect(Check.all(every: length) { $0.isSilent }.first == first)
    }

    /// It fires each time that it is set anew, and is then late for the next instant.
    @Test(arguments: [(2, 61), (3, 61), (4, nil)] as [(UInt64, UInt64?)])
    func anAlarmThatFiresOnlyWhenItIsSetAnewLimpsAfterAMinute(every: UInt64, first: UInt64?) {
        // Late at one check in `every`, and on time at the others.
        let limps = Check.all(overdue: { $0 % every < 2 ? $0 / every : nil }, where: { $0.limps })
        #expect(limps.first == first)
    }

    @Test func anAlarmIsLateAtTheSecondCheckForTheSameInstant() {
        let instants: [UInt64?] = [nil, 7, 9, 9, 9, nil, 9, 9]
        let late = Check.all(8, overdue: { instants[Int($0)] }, where: { $0.finding == .late(9) })
        let onTime = Check.all(8, overdue: { instants[Int($0)] }, where: { $0.finding == .onTime })
        #expect(late == [3, 4, 7] && onTime == [0, 1, 2, 5, 6])
    }

    @Test func aThreadThatRunsInVainIsToldFromOneThatGetsNoProcessor() {
        var watchdog = AlarmWatchdog()
        #expect((0..<10).contains { watchdog.hasRun(7 + UInt64($0) * 10_000_000) } == false)
        watchdog = AlarmWatchdog()
        #expect((0..<3).map { watchdog.hasRun(7 + UInt64($0) * 50_000_000) } == [false, true, true])
        _ = watchdog.finding(overdue: 1, at: 0)
        #expect(watchdog.hasRun(2_000_000_000) == false, "another instant begins anew")
    }
}

// What tells a failed alarm from one whose thread is held up.

/// What an alarm's silence means, by what holds its thread up.
struct SilenceTests {
    /// The second at which an alarm has failed that stays overdue for the same instant, with a check each second.
    private func failure(_ holdUp: (UInt64) -> HoldUp?) -> UInt64? {
        Check.all(1_000) { $0.isSilent && $0.hasFailed(heldUpBy: holdUp($0.number)) }.first
    }

    private static let cases: [(HoldUp?, UInt64?)] = [
        (nil, 5), (.debugger, nil), (.kernel, nil), (.processors(ran: 9), nil), (.workers(ran: ["8": 9]), nil),
        (.unknown, 60),
    ]

    @Test(arguments: cases)
    func aSilentAlarmFailsAfterFiveSecondsNeverOrAfterAMinute(holdUp: HoldUp?, second: UInt64?) {
        #expect(failure { _ in holdUp } == second)
    }

    @Test func threadsThatRunAllTheTimeAndFireNothingHoldNothingUp() {
        #expect(failure { .processors(ran: $0 * 50_000_000) } == 6)
        #expect(failure { .processors(ran: $0 * 40_000_000) } == nil)
        #expect(failure { .workers(ran: ["8": $0, "9": $0 + 1]) } == 6)
        #expect(failure { .workers(ran: ["8": $0, "9": 1]) } == nil, "the other one may be needed")
    }

    @Test func theMinuteBeginsAnewWhenSomethingIsKnownToHoldTheAlarmUp() {
        #expect(failure { $0 == 30 ? .kernel : .unknown } == 90)
        #expect(failure { $0 % 59 == 0 ? .debugger : .unknown } == nil)
        #expect(failure { $0 == 30 ? nil : .unknown } == 30, "nothing holds it up")
    }

    /// The process may have been stopped in between.
    @Test func theMinuteHasSixtyChecks() {
        let failures = Check.all(stopsAt: 10) { $0.isSilent && $0.hasFailed(heldUpBy: .unknown) }
        #expect(failures.first == 60)
        let quick = Check.all(every: second / 10) { $0.isSilent && $0.hasFailed(heldUpBy: .unknown) }
        #expect(quick == [], "sixty checks in six seconds")
    }

    /// What was found for an earlier instant says nothing of this one.
    @Test func anotherInstantBeginsAnew() {
        // The worker was asked about once for each instant.
        func holdUp(_ check: UInt64) -> HoldUp { check % 59 == 7 ? .workers(ran: ["8": check]) : .unknown }
        let failures = Check.all(
            120,
            overdue: { $0 / 59 },
            where: { $0.isSilent && $0.hasFailed(heldUpBy: holdUp($0.number)) }
        )
        #expect(failures == [])
    }

    /// It has taken its minute.
    @Test func anAlarmThatLimpsHasFailedUnlessSomethingHoldsItUp() {
        let holdUps: [HoldUp?] = [nil, .unknown, .debugger, .kernel, .workers(ran: ["8": 1])]
        let failed = holdUps.map { holdUp in Check.all(1) { $0.hasFailed(heldUpBy: holdUp, limps: true) } == [0] }
        #expect(failed == [true, true, false, false, false])
    }

    /// Each time that it is set anew it fires, so that each finding is for another instant.
    @Test(arguments: [(true, 63), (false, nil)] as [(Bool, UInt64?)])
    func aWorkerThatRunsAllTheTimeDoesNotHoldUpAnAlarmThatLimps(runs: Bool, first: UInt64?) {
        func worker(_ check: UInt64) -> HoldUp { .workers(ran: ["8": runs ? check : 0]) }
        let failures = Check.all(
            overdue: { $0 / 2 },
            where: { $0.limps && $0.hasFailed(heldUpBy: worker($0.number), limps: true) }
        )
        #expect(failures.first == first)
    }
}

/// What is read of a thread, and what holds it up.
struct HoldUpTests {
    private static func state(_ letter: String, _ name: String = "timer.timerfd") -> ThreadState? {
        ThreadState("42 (\(name)) \(letter) 1 42 42 0 -1 4194304 7 0 0 0 3 4 0 0 20 0 2 0 5".utf8)
    }

    @Test(
        arguments: [
            ("R", .runs), ("S", .sleeps), ("D", .isHeld), ("T", .isStopped), ("t", .isStopped), ("Z", .sleeps),
            ("X", .sleeps), ("I", nil), ("RR", nil), ("", nil),
        ] as [(String, ThreadState.Activity?)]
    )
    func theLetterOfAStateSaysWhatTheThreadDoes(letter: String, activity: ThreadState.Activity?) {
        for name in ["a", "", ") R 1 (", "a) D (b) S"] {
            #expect(Self.state(letter, name)?.activity == activity, "\(name)")
        }
        #expect(Self.state(letter).map(\.ran) == activity.map { _ in 70_000_000 })
    }

    @Test(arguments: [
        "", "42", "42 (a", "42 (a)", "42 a) S 1 2 3 4 5 6 7 8 9 10 11 12", "42 (a) S 1 2 3 4 5 6 7 8 9 10 11",
        "42 (a) S 1 2 3 4 5 6 7 8 9 10 x 12", "42 (a) S 1 2 3 4 5 6 7 8 9 10 11 -1",
    ])
    func anotherTextIsNoState(text: String) { #expect(ThreadState(text.utf8) == nil) }

    /// All threads, one of which is stopped or not; or only some of them.
    private static let others: [ThreadStates] = [
        ThreadStates(known: ["1": state("S"), "2": state("R")].compactMapValues(\.self), isComplete: true),
        ThreadStates(known: ["1": state("S"), "2": state("t")].compactMapValues(\.self), isComplete: true),
        ThreadStates(known: ["1": state("S"), "2": state("T")].compactMapValues(\.self), isComplete: false),
        ThreadStates(known: ["1": state("S")].compactMapValues(\.self), isComplete: false),
    ]

    @Test(
        arguments: [
            ("S", [nil, .debugger, .debugger, .unknown]),
            ("D", [.kernel, .debugger, .debugger, .kernel]),
            ("T", [.debugger, .debugger, .debugger, .debugger]),
            ("R", [.processors(ran: 70_000_000), .debugger, .debugger, .processors(ran: 70_000_000)]),
            ("?", [.unknown, .debugger, .debugger, .unknown]),
        ] as [(String, [HoldUp?])]
    )
    func aThreadIsHeldUpOrNotOrNothingIsKnown(letter: String, expected: [HoldUp?]) {
        #expect(Self.others.map { HoldUp(of: Self.state(letter), among: $0) } == expected)
    }

    @Test func aServiceOnDispatchIsHeldUpByWorkersThatWaitForAProcessorOrInTheKernel() {
        let workers = ["3": "R", "4": "D", "5": "S"].compactMapValues { Self.state($0, "-qos.overcommit") }
        let late = Self.others.map { others in
            let known = others.known.merging(workers) { known, _ in known }
            return HoldUp(ofWorkersAmong: ThreadStates(known: known, isComplete: others.isComplete))
        }
        let expected = HoldUp.workers(ran: ["3": 70_000_000, "4": 70_000_000])
        #expect(late == [expected, .debugger, .debugger, .unknown])
        #expect(Self.others.map(HoldUp.init(ofWorkersAmong:)) == [nil, .debugger, .debugger, .unknown])
    }
}
