import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerAlarms
import TimerKernel

/// Every alarm of the package keeps the contract; an alarm that breaks a clause fails that clause's check.
@Suite(.waits("every alarm fires by its own clock"), .timeLimit(.minutes(60))) struct AlarmConformanceTests {
    typealias Clause = AlarmConformance.Clause
    typealias Backend = TimerService.Backend

    @Test(arguments: Mechanism.all, Clause.allCases)
    func realAlarmsKeepTheContract(mechanism: Mechanism, clause: Clause) {
        let conformance = AlarmConformance { try mechanism.makeAlarm() }
        #expect(conformance.violations(of: clause) == [])
    }

    /// A stop may come at any moment, even just before a thread or loop begins to wait.
    @Test(arguments: Mechanism.all)
    func realAlarmsStoppedAtOnceAreReleased(mechanism: Mechanism) throws {
        let leaks = try (0..<Effort.of(150, thorough: 500))
            .filter { round in
                var alarm: (any TimerAlarm)? = try mechanism.makeAlarm()
                weak let gone = alarm
                try alarm?.start(onFire: {}, onFailure: { _ in })
                if round % 2 == 0 { try alarm?.set(mechanism.clock.now) }
                alarm?.stop()
                alarm = nil
                return !eventually { gone == nil }
            }
        withKnownIssue("see RunLoopAlarm.stop()", isIntermittent: true) {
            #expect(leaks.isEmpty, "the numbers of the rounds")
        } when: {
            mechanism.description.hasPrefix("runloop")
        }
    }

    private static let flaws: [(BrokenAlarm.Flaw?, Bool)] =
        [(nil, false), (nil, true)] + BrokenAlarm.Flaw.allCases.map { ($0, false) }

    /// Without a flaw it is a virtual alarm, which may fire once more after it was disarmed.
    @Test(arguments: flaws) func eachFlawIsReportedAndNothingElse(flaw: BrokenAlarm.Flaw?, firesOnceMore: Bool) {
        let conformance = AlarmConformance(
            patience: .milliseconds(500),
            elapse: { alarm, duration in
                (alarm as? BrokenAlarm)?.good.advance(by: duration)
                // For firings on threads of their own.
                pause(.microseconds(50))
            },
            makeAlarm: { BrokenAlarm(flaw, firesOnceMore: firesOnceMore) }
        )
        for clause in flaw.map({ [$0.clause] }) ?? Clause.allCases {
            #expect(conformance.violations(of: clause).first == flaw?.rawValue)
        }
    }

    @Test func anAlarmThatCannotBeMadeIsReported() {
        let conformance = AlarmConformance { throw RefusingAlarm.refusal }
        let violations = conformance.violations(of: .holdsOneDeadline)
        #expect(violations == ["the alarm refused: \(RefusingAlarm.refusal)"])
    }
}

/// Which alarms repeat by themselves, and when they fire.
@Suite(.waits("every alarm fires by its own clock"), .timeLimit(.minutes(60))) struct RepetitionTests {
    /// A timerfd that repeats by itself ticks later, and a run loop's alarm is set with dates.
    private static let able = Mechanism.all.filter(isAble)

    private static func isAble(_ mechanism: Mechanism) -> Bool {
        mechanism.clock == .suspending && ["dispatch", "queue"].contains { mechanism.description.contains($0) }
    }

    /// An alarm that has started and notes its firings, for a test that stops it.
    private func started(_ mechanism: Mechanism) throws -> (alarm: any TimerAlarm, firings: Notes<TimerInstant>) {
        let (alarm, firings) = (try mechanism.makeAlarm(), Notes<TimerInstant>())
        try alarm.start(onFire: { firings.append(alarm.now) }, onFailure: { _ in })
        return (alarm, firings)
    }

    /// A thousand periods of a fractional number of microseconds: rounding errors would add up to more than a period.
    @Test(arguments: able) func noFiringIsEarlierThanItsInstant(mechanism: Mechanism) throws {
        let period: UInt64 = 333_333
        let (alarm, firings) = try started(mechanism)
        defer { alarm.stop() }
        let first = alarm.now.advanced(by: .milliseconds(5))
        #expect(try alarm.set(first, every: period))
        #expect(eventually { firings.all.count >= 1_000 })
        let early = firings.all.enumerated()
            .first { number, instant in
                instant < first.advanced(by: .nanoseconds(Int64(period) * Int64(number)))
            }
        #expect(early == nil)
    }

    /// No alarm repeats without a period. With the longest one, it may say either.
    @Test(arguments: Mechanism.all)
    func theFirstDeadlineFiresWhetherTheAlarmCanRepeatOrNot(mechanism: Mechanism) throws {
        let (alarm, firings) = try started(mechanism)
        defer { alarm.stop() }
        try #require(alarm.now.clock == mechanism.clock)
        // The wall clock may be slewed or stepped during the test, but not by hours.
        #expect(abs(mechanism.clock.now.duration(to: alarm.now) / .seconds(1)) < 60)
        for period: UInt64 in [0, .max, 1_000_000] {
            let before = firings.all.count
            let goesOn = try alarm.set(alarm.now, every: period)
            #expect(period == .max || goesOn == (period > 0 && Self.isAble(mechanism)))
            #expect(eventually { firings.all.count > before })
        }
    }

    @Test func aStoppedPolledAlarmIsNoLongerReadable() throws {
        let timers = try TimerService.pollable()
        let log = Log()
        try PreciseTimer.schedule(.every(.milliseconds(1)), on: timers.service, target: log) { $0.note($1) }
        while log.count < 3 {
            #expect(Poll.isReadable(timers.descriptor, within: 10_000))
            timers.process()
        }
        timers.service.shutdown()
        #expect(!Poll.isReadable(timers.descriptor, within: 20))
    }
}

/// A working alarm with a flaw.
final class BrokenAlarm: TimerAlarm {
    /// The raw value is the violation that the check reports.
    enum Flaw: String, CaseIterable, Sendable {
        case keepsItsDeadline = "an earlier deadline did not replace a later one"
        case ignoresPastDeadlines = "a deadline of the current instant did not fire"
        case firesInsideSet = "the alarm fired inside set"
        case firesOnAnyThread = "two firings ran at once"
        case ignoresStop = "the alarm fired after it was stopped"
        case retainsItself = "a thread or an object retains the alarm after it was stopped"
        case goesOnSecretly = "the alarm repeats by itself, though it said that it does not"
        /// It says that it repeats, but ignores a first deadline that has passed.
        case losesPastRepetitions = "the alarm said that it repeats by itself, but does not"
        case outlivesDisarming = "the alarm repeats by itself after it was disarmed"
        case outlivesReplacement = "the alarm repeats by itself after it was set to a far deadline"
        case outlivesStop = "the alarm repeats by itself after it was stopped"
        case keepsItsRepetition = "a repetition with a long period did not replace one with a short period"

        var clause: AlarmConformance.Clause {
            switch self {
            case .keepsItsDeadline: .holdsOneDeadline
            case .ignoresPastDeadlines: .firesForPastDeadlines
            case .firesInsideSet: .neverFiresInsideSet
            case .firesOnAnyThread: .neverFiresTwiceAtOnce
            case .ignoresStop, .retainsItself: .stopIsFinal
            default: .goesOnIfItSaysSo
            }
        }
    }

    let good = VirtualAlarm()
    private let flaw: Flaw?
    private let firesOnceMore: Bool
    private let isSet = Box<Bool>()
    private let isRepeating = Box<Bool>()
    private let onFire = Box<@Sendable () -> Void>()
    private let retained = Box<BrokenAlarm>()

    init(_ flaw: Flaw?, firesOnceMore: Bool) {
        (self.flaw, self.firesOnceMore) = (flaw, firesOnceMore)
        if flaw == .retainsItself { retained.value = self }
    }

    var now: TimerInstant { good.now }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        self.onFire.value = onFire
        let onItsOwnThread: @Sendable () -> Void = { try? Thread.start("broken") { onFire() } }
        good.start(onFire: flaw == .firesOnAnyThread ? onItsOwnThread : onFire, onFailure: onFailure)
    }

    func set(_ deadline: TimerInstant?) {
        let isPast = deadline.map { $0 <= now } ?? false
        switch flaw {
        case .keepsItsDeadline where isSet.value == true: return
        case .ignoresPastDeadlines where isPast: return good.set(nil)
        case .firesInsideSet where isPast: onFire.value?()
        case .outlivesDisarming where deadline == nil && isRepeating.value == true: return
        case .outlivesReplacement where deadline != nil && isRepeating.value == true: return
        default: good.set(deadline ?? (firesOnceMore ? now.advanced(by: .milliseconds(1)) : nil))
        }
        (isSet.value, isRepeating.value) = (true, false)
    }

    func set(_ first: TimerInstant, every period: UInt64) -> Bool {
        if flaw == .keepsItsRepetition && isRepeating.value == true { return true }
        isRepeating.value = true
        if flaw == .losesPastRepetitions && first < now {
            good.set(nil)
            return true
        }
        return good.set(first, every: period) && flaw != .goesOnSecretly
    }

    func stop() {
        if flaw != .ignoresStop && flaw != .outlivesStop { good.stop() }
        onFire.value = nil
    }
}
