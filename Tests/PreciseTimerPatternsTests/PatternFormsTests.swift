import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import TestSupport
import Testing

/// Each argument that a form of this module may leave out is seen: in a table of its family, or here.
struct PatternFormsTests {
    private struct Broken: Error {}

    private static let facts = [
        "Backoff.exponential(from:factor:upTo:)": ["factor": "9.0 seconds"],
        "Schedule.rate(_:per:count:)": ["count": "3"],
        "CallLimiter.finish(within:)": ["within": "waiting 7 ms"],
        "TimeoutError.init(deadline:overrun:underlying:)": ["overrun": "5.0 seconds", "underlying": "Broken()"],
    ]

    @Test func eachFormHeedsItsOptions() async throws {
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
        let seen = [
            "Backoff.exponential(from:factor:upTo:)": ["factor": "\(backoff.pause(after: 3))"],
            "Schedule.rate(_:per:count:)": ["count": "\(log.count)"],
            "CallLimiter.finish(within:)": ["within": "\(refusal?.attempted.prefix(12) ?? "")"],
            "TimeoutError.init(deadline:overrun:underlying:)": [
                "overrun": "\(error.overrun)", "underlying": "\(error.underlying)",
            ],
        ]
        #expect(seen == Self.facts)
    }

    @Test func eachOptionIsSeenInATable() throws {
        let calls = WithRetryTests.Form.allCases.map(\.row) + WithTimeoutTests.Form.allCases.map(\.row)
        let rows = FormTests.Sample.all.map(\.row) + calls + Self.facts.map { FormRow($0.key, facts: $0.value) }
        #expect(try flaws(of: rows, in: "PreciseTimerPatterns") == [])
    }
}
