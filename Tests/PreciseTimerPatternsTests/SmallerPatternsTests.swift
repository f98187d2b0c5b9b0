import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Each argument that a form of this module may leave out is seen: in a table of its family, or here.
struct PatternFormsTests {
    private struct Broken: Error {}

    @Test func eachOptionIsSeen() async throws {
        let (virtual, log, stuck) = (VirtualTime(), Log(), SuspendedQueue())
        defer { stuck.letRun() }
        let backoff = PreciseTimer.Backoff.exponential(from: .seconds(1), factor: 3, upTo: .seconds(60))
        try PreciseTimer.schedule(.rate(2.5, per: .seconds(1), count: 3), on: virtual.service, target: log) {
            $0.note($1)
        }
        virtual.advanceWithoutSettling(by: .seconds(9))
        let place = PreciseTimer.Delivery.queue(stuck.queue)
        let save = try Debouncer(.zero, on: virtual.service, deliver: place, target: log) { _ in }
        save()
        let refusal = await #expect(throws: TimerError.self) { try await save.finish(within: .milliseconds(7)) }
        let error = TimeoutError(deadline: virtual.now, overrun: .seconds(5), underlying: Broken())
        let facts = [
            "Backoff.exponential(from:factor:upTo:)": ["factor": "\(backoff.pause(after: 3))"],
            "Schedule.rate(_:per:count:)": ["count": "\(log.count)"],
            "CallLimiter.finish(within:)": ["within": "\(refusal?.attempted.prefix(12) ?? "")"],
            "TimeoutError.init(deadline:overrun:underlying:)": [
                "overrun underlying": "\(error.overrun), \(error.underlying)"
            ],
        ]
        let seen = facts.values.flatMap(\.values).sorted()
        #expect(seen == ["3", "5.0 seconds, Broken()", "9.0 seconds", "waiting 7 ms"])
        let calls = WithRetryTests.Form.allCases.map(\.row) + WithTimeoutTests.Form.allCases.map(\.row)
        let rows = FormTests.Sample.all.map(\.row) + calls + facts.map { FormRow($0.key, facts: $0.value) }
        #expect(try flaws(of: rows, in: "PreciseTimerPatterns") == [])
    }
}

/// Rates with a fraction.
struct RateTests {
    private let virtual = VirtualTime()

    @Test(arguments: [
        (127.5, 60, 255, 120), (127.1, 60, 1_271, 600), (24 * 127.1, 60, 15_252, 300), (29.97, 1, 2_997, 100),
        (0.1, 1, 1, 10), (2.5, 86_400, 5, 172_800), (60, 1, 60, 1),
    ])
    func aDecimalIsTheExactRatioThatItNames(rate: Double, seconds: Int, ticks: Int, time: Int) throws {
        let (deadlines, start) = (Notes<TimerInstant>(), virtual.now)
        let schedule = PreciseTimer.Schedule.rate(rate, per: .seconds(seconds))
        let timer = try PreciseTimer.schedule(schedule, on: virtual.service) { deadlines.append($1.deadline) }
        virtual.advance(by: .seconds(time))
        #expect(deadlines.all.count == ticks)
        #expect(deadlines.all.last == start.advanced(by: .seconds(time)))
        timer.cancel()
    }

    @Test(
        arguments: [0, -1, 1e-9, 1e30, .infinity, -.infinity, .nan],
        [.seconds(1), .zero, .seconds(-1), .seconds(Int64.max) * 18, .seconds(Int64.min) * 18] as [Duration]
    )
    func aRateThatMakesNoSenseIsRefused(rate: Double, duration: Duration) {
        let error = #expect(throws: TimerError.self) {
            _ = try PreciseTimer.schedule(.rate(rate, per: duration), on: virtual.service) { _, _ in }
        }
        #expect(error?.code == .invalidSchedule)
    }
}

/// A stand-in that forwards to its target without retaining it.
struct WeakProxyTests {
    private final class Model {
        var title: String? = "a title"
        var number = 1
        var double: Int { number * 2 }

        func add(_ other: Int) -> Int {
            number += other
            return number
        }
    }

    private struct Refusal: Error {}

    @Test func readsWritesAndCallsReachTheTarget() throws {
        let model = Model()
        let proxy = WeakProxy(model)
        #expect(proxy.target === model)
        #expect(proxy.number == 1 && proxy.title == "a title")
        proxy.number = 5
        let (written, read, returned) = (model.number, proxy.double, proxy { $0.add(2) })
        #expect([written, read, returned, model.number] == [5, 10, 7, 7])
        proxy.number = nil
        #expect(model.number == 7, "nil reaches an optional property only")
        for title in [nil, "another"] {
            proxy.title = title
            #expect(model.title == title)
        }
        #expect(throws: Refusal.self) { try proxy { _ throws(Refusal) in throw Refusal() } }
    }

    @Test func aProxyRetainsNothingAndDoesNothingOnceTheTargetIsReleased() async {
        let (proxy, count) = (WeakProxy(Model()), WeakProxy(Count()))
        proxy.number = 5
        let result = proxy { model in
            Issue.record("there is no target")
            return model.number
        }
        #expect(proxy.target == nil && proxy.title == nil)
        #expect([proxy.number, proxy.double, result] == [nil, nil, nil])
        #expect(await Task { count.value }.value == nil, "it is Sendable if its target is")
    }
}
