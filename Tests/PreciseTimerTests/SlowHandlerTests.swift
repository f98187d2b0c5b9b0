import Dispatch
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing
import TimerKernel

/// Handlers that run for longer than their period or, inline and beside other timers, 5 ms. What a debug build says of
/// them is in `HintTests`.
@Suite(.waits("a handler holds up the alarm's thread"), .timeLimit(.minutes(60))) struct SlowHandlerTests {
    private let virtual = VirtualTime()
    private let log = Log()

    init() { virtual.service.collectsStatistics = true }

    /// The slow handlers of a service.
    private func found(on service: TimerService) -> [String] {
        service.slowHandlers.map { "\($0.label ?? "-"): \($0.count) over \($0.period.text), up to \($0.longest.text)" }
    }

    /// Inline timers of one service, with the milliseconds that each call takes (the last number is that of all later
    /// calls), and the slow handlers among them after some milliseconds.
    struct Scene: Sendable {
        let timers: [(label: String, schedule: PreciseTimer.Schedule, calls: [Int])]
        let time: Int
        let found: String?

        init(_ timers: [(String, PreciseTimer.Schedule, [Int])], for time: Int, found: String? = nil) {
            (self.timers, self.time, self.found) = (timers, time, found)
        }
    }

    private static func every(_ milliseconds: Int, after delay: Int? = nil) -> PreciseTimer.Schedule {
        .every(.milliseconds(milliseconds), after: delay.map(Duration.milliseconds))
    }

    /// A timer that does not tick.
    private static let rest = ("rest", PreciseTimer.Schedule.onDemand, [0])

    private static let scenes = [
        // The longest call counts.
        Scene([("a", every(1_000), [1_500, 3_000, 1_500])], for: 10_000, found: "a: 6 over 1 s, up to 3 s"),
        // Exactly a period is not too long.
        Scene([("a", every(4), [4, 4, 5, 0])], for: 16, found: "a: 1 over 4 ms, up to 5 ms"),
        // The period of a rate is that of one tick.
        Scene([("a", .rate(4, per: .seconds(1)), [251, 0])], for: 1_000, found: "a: 1 over 250 ms, up to 251 ms"),
        // Inline, 5 ms are not too long, and more are, whatever the schedule is.
        Scene(
            [("a", .once(after: .seconds(1)), [5]), ("b", .fixedDelay(.seconds(1)), [5]), ("c", every(1_000), [5])],
            for: 1_100
        ),
        Scene([("a", .once(after: .seconds(1)), [6]), rest], for: 2_000, found: "a: 1 over 5 ms, up to 6 ms"),
        Scene([("a", .fixedDelay(.seconds(1)), [1_000]), rest], for: 1_500, found: "a: 1 over 5 ms, up to 1 s"),
        Scene([("a", every(1_000), [800]), rest], for: 1_900, found: "a: 1 over 5 ms, up to 800 ms"),
        // A handler that no other timer waits for has its period.
        Scene([("a", every(1_000), [800])], for: 1_900), Scene([("a", .once(after: .seconds(1)), [6])], for: 2_000),
        // A timer's last call is watched, too.
        Scene([("a", .every(.seconds(1), count: 1), [2_000])], for: 10_000, found: "a: 1 over 1 s, up to 2 s"),
        // The time of one handler is not charged to the next.
        Scene(
            [("quick", every(1_000), [0]), ("slow", every(1_000), [2_000, 0]), ("late", every(1_000), [0])],
            for: 10_000,
            found: "slow: 1 over 1 s, up to 2 s"
        ),
        // Those that wait for another handler are not slow.
        Scene(
            [("starved", every(10), [0]), ("starved too", every(10), [0]), ("greedy", every(100), [80])],
            for: 1_000,
            found: "greedy: 10 over 5 ms, up to 80 ms"
        ),
    ]

    @Test(arguments: scenes) func aHandlerIsNamedIfItRanForLongerThanItsPeriodOrKeepsOthersWaiting(scene: Scene) throws
    {
        for (label, schedule, calls) in scene.timers {
            let count = Count()
            try PreciseTimer.schedule(schedule, on: virtual.service, label: label, target: log) { [virtual] _, _ in
                virtual.advance(by: .milliseconds(calls[min(count.add(1), calls.count) - 1]))
            }
        }
        virtual.advance(by: .milliseconds(scene.time))
        #expect(found(on: virtual.service).first == scene.found && virtual.service.slowHandlers.count < 2)
    }

    @Test func aCallSiteIsItsFileItsLineAndItsLabelAndHasThePeriodOfItsLongestCall() throws {
        for (file, line, label, period) in [
            ("A", 1, nil, 1), ("A", 2, nil, 1), ("A", 1, "b", 1), ("B", 1, nil, 1), ("A", 1, nil, 9), ("A", 1, nil, 2),
        ] as [(StaticString, UInt, String?, Int)] {
            try PreciseTimer.schedule(
                .every(.seconds(period), count: 1),
                on: virtual.service,
                label: label,
                file: file,
                line: line,
                target: log
            ) { [virtual] _, _ in virtual.advance(by: .seconds(2 * period)) }
            virtual.advance(by: .seconds(60))
        }
        let rest = "): 1 call longer than 1 s, the longest 2 s"
        let texts =
            ["(A:1): 3 calls longer than 9 s, the longest 18 s"] + ["(A:2", "\"b\" (A:1", "(B:1"].map { $0 + rest }
        #expect(virtual.service.slowHandlers.map(\.description) == texts)
    }

    @Test func oneCallSiteIsNamedOnceAndOnlyTheFirstAreNamed() throws {
        for number in 0..<80 {
            try PreciseTimer.schedule(.every(.seconds(60)), on: virtual.service, label: "\(number / 2)", target: log) {
                [virtual] _, _ in virtual.advance(by: .seconds(61))
            }
        }
        virtual.advance(by: .seconds(60))
        #expect(found(on: virtual.service) == (0..<16).map { "\($0): 2 over 60 s, up to 61 s" })
    }

    @Test func aHandlerOnAQueueStarvesNoOtherTimer() throws {
        let (alarm, queue) = (ManualAlarm(), DispatchQueue(label: "test.slow"))
        let (service, place) = (try TimerService(alarm: alarm), PreciseTimer.Delivery.queue(queue))
        service.collectsStatistics = true
        try PreciseTimer.schedule(.every(.milliseconds(100)), on: service, deliver: place, target: log) { _, _ in
            alarm.move(by: .milliseconds(80))
        }
        try PreciseTimer.schedule(.onDemand, on: service, target: log) { $0.note($1) }
        alarm.move(by: .milliseconds(100))
        alarm.fire()
        queue.sync {}
        #expect(service.statistics?.handlerTime.longest == .milliseconds(80) && service.slowHandlers.isEmpty)
    }

    /// Sending takes time, which must not be charged to the handler before it.
    @Test func theTimeOfAHandlerEndsBeforeTheNextTickIsSent() throws {
        let (alarm, log, queue) = (ManualAlarm(), Log(), SuspendedQueue())
        let service = try TimerService(alarm: alarm)
        service.collectsStatistics = true
        for delivery in [PreciseTimer.Delivery.inline, .queue(queue.queue)] {
            try PreciseTimer.schedule(.every(.seconds(1)), on: service, deliver: delivery, target: log) { $0.note($1) }
        }
        alarm.move(by: .seconds(1))
        alarm.moveWithEachReading(by: .microseconds(1))
        alarm.fire()
        #expect(service.statistics?.handlerTime.total == .microseconds(1), "one reading after the call")
        service.shutdown()
        queue.letRun()
        #expect(log.count == 1)
    }

    /// The service has no clock any more, and its next run tells nothing of the time before it.
    @Test func onlyTheTimeOfAHandlerThatShutsItsServiceDownIsNotCounted() throws {
        let (alarm, log) = (ManualAlarm(), Log())
        let service = TimerService(startedOnUse: { alarm })
        service.collectsStatistics = true
        let schedule = PreciseTimer.Schedule.every(.milliseconds(1))
        let first = try PreciseTimer.schedule(schedule, on: service, label: "first", target: log) { _, _ in
            alarm.move(by: .milliseconds(5))
        }
        try PreciseTimer.schedule(schedule, on: service, label: "last", target: log) { [weak service] log, tick in
            log.note(tick)
            service?.shutdown()
            alarm.move(by: .seconds(10))
        }
        alarm.move(by: .milliseconds(1))
        alarm.fire()
        #expect(first.state == .ended(.serviceShutDown))
        try PreciseTimer.schedule(schedule, on: service, target: log) { $0.note($1) }
        alarm.move(by: .milliseconds(1))
        alarm.fire()
        #expect(log.count == 2)
        #expect(found(on: service) == ["first: 1 over 1 ms, up to 5 ms"])
    }

    /// The statistics of the timer alone are enough.
    @Test(arguments: DeliveryKind.allCases) func aSlowHandlerIsFoundInEveryPlace(kind: DeliveryKind) async throws {
        let (service, place, log) = (try TimerService(.usual), Place(kind), Log())
        let timer = try place.schedule(.every(.milliseconds(1)), on: service, target: log) { tick in
            log.note(tick)
            pause(.milliseconds(3))
        }
        timer.collectsStatistics = true
        #expect(await soon { log.count >= 3 })
        timer.cancel()
        #expect(await soon { !service.slowHandlers.isEmpty })
        let slow = try #require(service.slowHandlers.first)
        #expect([slow.period.description, slow.file] == ["0.001 seconds", "TestSupport/Place.swift"])
        #expect(slow.longest >= .milliseconds(3))
        service.shutdown()
    }
}
