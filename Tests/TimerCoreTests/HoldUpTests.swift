import PreciseTimer
import Testing
import TimerKernel

// What tells a failed alarm from one whose thread is held up.

/// What an alarm's silence means, by what holds its thread up.
struct SilenceTests {
    private static let second: UInt64 = 1_000_000_000

    /// The second at which an alarm has failed that stays overdue for the same instant, with a check each second.
    private func failure(until last: UInt64 = 1_000, _ holdUp: (UInt64) -> HoldUp?) -> UInt64? {
        var watchdog = AlarmWatchdog()
        return (0..<last)
            .first { second in
                let now = (40 + second) * Self.second
                guard case .late(_, isSilent: true, _) = watchdog.finding(overdue: 7, at: now) else { return false }
                return watchdog.hasFailed(heldUpBy: holdUp(second), at: now)
            }
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
        var watchdog = AlarmWatchdog()
        let first = (0..<100 as Range<UInt64>)
            .first { check in
                let now = (check < 10 ? check : check + 600) * Self.second
                guard case .late(_, isSilent: true, _) = watchdog.finding(overdue: 7, at: now) else { return false }
                return watchdog.hasFailed(heldUpBy: .unknown, at: now)
            }
        #expect(first == 60)
        #expect(failure(until: 60) { _ in .unknown } == nil)
    }

    /// What was found for an earlier instant says nothing of this one.
    @Test func anotherInstantBeginsAnew() {
        var watchdog = AlarmWatchdog()
        let failures = (0..<120 as Range<UInt64>)
            .filter { second in
                let (instant, now) = (second / 59, second * Self.second)
                guard case .late(_, isSilent: true, _) = watchdog.finding(overdue: instant, at: now) else {
                    return false
                }
                // The worker was asked about once for each instant.
                let isAsked = second % 59 == 7
                return watchdog.hasFailed(heldUpBy: isAsked ? .workers(ran: ["8": second]) : .unknown, at: now)
            }
        #expect(failures == [])
    }

    /// It has taken its minute.
    @Test func anAlarmThatLimpsHasFailedUnlessSomethingHoldsItUp() {
        let holdUps: [HoldUp?] = [nil, .unknown, .debugger, .kernel, .workers(ran: ["8": 1])]
        let failed = holdUps.map { holdUp in
            var watchdog = AlarmWatchdog()
            return watchdog.hasFailed(heldUpBy: holdUp, limps: true, at: 0)
        }
        #expect(failed == [true, true, false, false, false])
    }

    /// Each time that it is set anew it fires, so that each finding is for another instant.
    @Test(arguments: [(true, 63), (false, nil)] as [(Bool, UInt64?)])
    func aWorkerThatRunsAllTheTimeDoesNotHoldUpAnAlarmThatLimps(runs: Bool, second: UInt64?) {
        var watchdog = AlarmWatchdog()
        let first = (0..<200 as Range<UInt64>)
            .first { check in
                let now = check * Self.second
                guard case .late(_, _, limps: true) = watchdog.finding(overdue: check / 2, at: now) else {
                    return false
                }
                return watchdog.hasFailed(heldUpBy: .workers(ran: ["8": runs ? check : 0]), limps: true, at: now)
            }
        #expect(first == second)
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
