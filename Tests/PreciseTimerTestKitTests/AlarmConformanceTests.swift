import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import Synchronization
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

    @Test(arguments: Mechanism.all)
    func realAlarmsReadTheRequestedClock(mechanism: Mechanism) throws {
        let alarm = try mechanism.makeAlarm()
        let (before, now, after) = (mechanism.clock.now, alarm.now, mechanism.clock.now)
        #expect(now.clock == mechanism.clock)
        // The wall clock may be slewed or stepped during the test, but not by hours.
        #expect(before.advanced(by: .seconds(-60)) <= now && now <= after.advanced(by: .seconds(60)))
    }

    @Test(arguments: Clause.allCases)
    func theVirtualAlarmKeepsTheContract(clause: Clause) {
        let conformance = AlarmConformance(
            elapse: { alarm, duration in (alarm as? VirtualAlarm)?.advance(by: duration) },
            makeAlarm: { VirtualAlarm() }
        )
        #expect(conformance.violations(of: clause) == [])
    }

    @Test(arguments: Clause.allCases)
    func anAlarmThatBreaksAClauseFailsItsCheck(clause: Clause) throws {
        let conformance = AlarmConformance(patience: .milliseconds(500)) {
            BrokenAlarm(breaking: clause, over: try Backend.usual.makeAlarm())
        }
        // Firings merge if the thread of an alarm stands still, and then cannot overlap.
        let violations = (0..<5).lazy.map { _ in conformance.violations(of: clause) }.first { !$0.isEmpty } ?? []
        #expect(violations.first?.hasPrefix("the alarm refused") == false)
    }

    @Test func withoutABrokenClauseTheTestAlarmKeepsTheContract() {
        let conformance = AlarmConformance { BrokenAlarm(breaking: nil, over: try Backend.usual.makeAlarm()) }
        #expect(Clause.allCases.flatMap(conformance.violations) == [])
    }

    @Test(arguments: BrokenRepetition.Flaw.allCases)
    func eachFlawOfARepetitionIsReported(flaw: BrokenRepetition.Flaw) {
        let conformance = AlarmConformance(
            patience: .milliseconds(500),
            elapse: { alarm, duration in (alarm as? BrokenRepetition)?.advance(by: duration) },
            makeAlarm: { BrokenRepetition(flaw) }
        )
        #expect(conformance.violations(of: .goesOnIfItSaysSo).first == flaw.rawValue)
    }

    @Test func anAlarmThatCannotBeMadeIsReported() {
        let conformance = AlarmConformance { throw Refusal() }
        #expect(conformance.violations(of: .holdsOneDeadline) == ["the alarm refused: no"])
    }

    private struct Refusal: Error, CustomStringConvertible {
        let description = "no"
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

    @Test(arguments: Mechanism.all)
    func theFirstDeadlineFiresWhetherTheAlarmCanRepeatOrNot(mechanism: Mechanism) throws {
        let (alarm, firings) = try started(mechanism)
        defer { alarm.stop() }
        // No alarm repeats without a period. With the longest one, it may say either.
        let refused: [UInt64: Bool] = [0: true, 1_000_000: !Self.isAble(mechanism)]
        for period: UInt64 in [0, .max, 1_000_000] {
            let before = firings.all.count
            let goesOn = try alarm.set(alarm.now, every: period)
            if let isRefused = refused[period] { #expect(goesOn == !isRefused) }
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

/// A working alarm that is made to break one clause of the contract.
final class BrokenAlarm: TimerAlarm {
    private let broken: AlarmConformance.Clause?
    private let good: any TimerAlarm
    private let isSet = Atomic(false)
    private let isStopped = Atomic(false)
    private let onFire = Lock(Firing())

    /// A structure: a function that stands alone in a lock is wrapped once more with each access.
    private struct Firing {
        var call: (@Sendable () -> Void)?
    }

    init(breaking broken: AlarmConformance.Clause?, over good: any TimerAlarm) {
        self.broken = broken
        self.good = good
    }

    var now: TimerInstant { good.now }

    func start(
        onFire: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (TimerError) -> Void
    ) throws(TimerError) {
        self.onFire.withLock { $0.call = onFire }
        let onItsOwnThread: @Sendable () -> Void = { try? Thread.start("broken") { onFire() } }
        try good.start(onFire: broken == .neverFiresTwiceAtOnce ? onItsOwnThread : onFire, onFailure: onFailure)
    }

    func set(_ deadline: TimerInstant?) throws(TimerError) {
        switch broken {
        case .holdsOneDeadline where isSet.exchange(true, ordering: .sequentiallyConsistent):
            break  // keeps its present deadline
        case .firesForPastDeadlines where deadline.map { $0 <= now } ?? false:
            try good.set(nil)
        case .neverFiresInsideSet where deadline.map { $0 <= now } ?? false:
            onFire.withLock { $0.call }?()
        case .stopIsFinal where deadline != nil && isStopped.load(ordering: .sequentiallyConsistent):
            fireOnAnotherThread()
        default:
            try good.set(deadline)
        }
    }

    /// If it breaks no clause, it repeats by itself, so that the checks of repetition are seen to pass.
    func set(_ first: TimerInstant, every period: UInt64) throws(TimerError) -> Bool {
        switch broken {
        case nil:
            return try good.set(first, every: period)
        case .goesOnIfItSaysSo:
            try good.set(first)
            return true
        default:
            try set(first)
            return false
        }
    }

    func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        if broken != .stopIsFinal { good.stop() }
    }

    /// Waits for the firing, so that the check notices it in time.
    private func fireOnAnotherThread() {
        let done = DispatchSemaphore(value: 0)
        let onFire = onFire.withLock { $0.call }
        let isStarted: Void? = try? Thread.start("broken") {
            onFire?()
            done.signal()
        }
        if isStarted != nil { done.wait() }
    }
}

/// A working alarm that repeats by itself, and is made to break its repetition in one way.
final class BrokenRepetition: TimerAlarm {
    /// The raw value is the violation that the check reports.
    enum Flaw: String, CaseIterable, Sendable {
        /// It says that it does not repeat, but repeats.
        case goesOnSecretly = "the alarm repeats by itself, though it said that it does not"
        /// It says that it repeats, but ignores a first deadline that has passed.
        case losesPastDeadlines = "the alarm said that it repeats by itself, but does not"
        /// Disarming does not end the repetition.
        case outlivesDisarming = "the alarm repeats by itself after it was disarmed"
        /// A later deadline does not end the repetition.
        case outlivesReplacement = "the alarm repeats by itself after it was set to a far deadline"
        /// Stopping does not end the repetition.
        case outlivesStop = "the alarm repeats by itself after it was stopped"
        /// It ignores every repetition after the first one.
        case keepsTheFirst = "a repetition with a long period did not replace one with a short period"
    }

    private let flaw: Flaw
    private let good = VirtualAlarm()
    private let isRepeating = Box<Bool>()

    init(_ flaw: Flaw) { self.flaw = flaw }

    var now: TimerInstant { good.now }

    func advance(by duration: Duration) { good.advance(by: duration) }

    func start(onFire: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (TimerError) -> Void) {
        good.start(onFire: onFire, onFailure: onFailure)
    }

    func set(_ deadline: TimerInstant?) {
        let isKept =
            switch flaw {
            case .outlivesDisarming: deadline == nil
            case .outlivesReplacement: deadline != nil
            default: false
            }
        if isKept && isRepeating.value == true { return }
        isRepeating.value = false
        good.set(deadline)
    }

    func set(_ first: TimerInstant, every period: UInt64) -> Bool {
        if flaw == .keepsTheFirst && isRepeating.value == true { return true }
        isRepeating.value = true
        if flaw == .losesPastDeadlines && first < now {
            good.set(nil)
            return true
        }
        return good.set(first, every: period) && flaw != .goesOnSecretly
    }

    func stop() { if flaw != .outlivesStop { good.stop() } }
}
