import Foundation
import PreciseTimer
import PreciseTimerFoundation
import PreciseTimerTestKit
import TestSupport
import Testing

/// Plain values can be stored and sent, and are the same afterwards.
struct CodableTests {
    private typealias Histogram = PreciseTimer.Statistics.Histogram

    private let virtual = VirtualTime()
    private let log = Log()

    @Test func ticksInstantsAndErrorsAreTheSameAfterCoding() throws {
        let due = TimerInstant(nanoseconds: 1_000, clock: .wall)
        let (woke, delivered) = (due.advanced(by: .nanoseconds(1)), due.advanced(by: .seconds(5)))
        try expectCopies([
            PreciseTimer.Tick(index: .max, deadline: due, woke: woke, delivered: delivered, missed: .max - 1),
            PreciseTimer.Tick(deadline: due, isExtra: true),
        ])
        try expectCopies(TimerClock.allCases)
        let numbers: [UInt64] = [0, 1, UInt64(Int64.max) + 1, .max - 1, .max]
        try expectCopies(
            TimerClock.allCases.flatMap { clock in numbers.map { TimerInstant(nanoseconds: $0, clock: clock) } }
        )
        let error = TimerError(.init("own"), "opening", errno: 24, systemMessage: "Too many open files")
        try expectCopies([error, TimerError(.timerEnded, "rescheduling")])
        try expectCopies([error.code])
    }

    @Test func snapshotsAndSlowHandlersAreTheSameAfterCoding() throws {
        virtual.service.collectsStatistics = true
        let timer = try schedule(.every(.milliseconds(10)), label: "clock")
        try expectCopies(virtual.service.activeTimers)
        virtual.jump(by: .nanoseconds(10_000_001))
        timer.pause(keeping: .grid)
        let snapshots = virtual.service.activeTimers
        #expect(snapshots.map(\.lastLateness) == [.nanoseconds(1)])
        try expectCopies(snapshots)
        let slow = try PreciseTimer.schedule(.every(.milliseconds(1)), on: virtual.service, label: "slow") {
            [virtual] _, _ in virtual.advance(by: .milliseconds(3))
        }
        virtual.advance(by: .milliseconds(1))
        slow.cancel()
        #expect(virtual.service.slowHandlers.count == 1)
        try expectCopies(virtual.service.slowHandlers)
    }

    @Test func statisticsAreTheSameAfterCodingAndCanStillBeMerged() throws {
        virtual.service.collectsStatistics = true
        try expectCopies([try #require(virtual.service.statistics)])
        try schedule(.every(.milliseconds(10)))
        virtual.jump(by: .milliseconds(57))
        virtual.advance(by: .seconds(1))
        var full = try #require(virtual.service.statistics)
        #expect(full.missed > 0 && full.longestStall != nil)
        try expectCopies([full])
        var stored = try copy(full)
        stored.merge(full)
        full.merge(full)
        #expect(stored == full)
    }

    /// Statistics of 1,100 ticks, some late, as text.
    private func storedStatistics() throws -> String {
        virtual.service.collectsStatistics = true
        try schedule(.every(.milliseconds(10)))
        virtual.jump(by: .milliseconds(57))
        virtual.advance(by: .seconds(11))
        return try json(try #require(virtual.service.statistics))
    }

    @Test func aStoredDriftMustBeSumsOfTicks() throws {
        let text = try storedStatistics()
        #expect(try decode(PreciseTimer.Statistics.self, text).drift.map { $0.noise.isFinite } == true)
        let numbers = try #require(text.firstMatch(of: /"wakeUps":\[([^\]]*)\]/)).output.1.split(separator: ",")
        var wrong = [#""1","2""#, #""-1","0","0","0","0","0","0""#, #""0","a","0","0","0","0","0""#]
        // The count, the squares of times and of latenesses, and the count of the next length.
        for place in [1, 4, 5, 7] {
            var changed = numbers
            changed[place] = #""-12""#
            wrong.append(changed.joined(separator: ","))
        }
        wrong.append(numbers.dropLast().joined(separator: ","))
        for sums in wrong {
            let changed = text.replacing(/"wakeUps":\[[^\]]*\]/, with: "\"wakeUps\":[\(sums)]")
            #expect(throws: DecodingError.self, "\(sums)") { try decode(PreciseTimer.Statistics.self, changed) }
        }
        let without = text.replacing(/,"wakeUps":\[[^\]]*\]/, with: "")
        #expect(try decode(PreciseTimer.Statistics.self, without).drift == nil)
    }

    @Test func statisticsThatNoTicksCanHaveAreRefused() throws {
        let text = try storedStatistics()
        let changes: [(String, String)] = [
            ("\"missed\":4", "\"missed\":-1"), ("\"missed\":4", "\"missed\":\(Int.min)"),
            ("\"afterStep\":0", "\"afterStep\":-1"),
        ]
        for (old, new) in changes {
            let changed = text.replacing(old, with: new)
            #expect(changed != text, "\(text)")
            #expect(throws: DecodingError.self, "\(new)") { try decode(PreciseTimer.Statistics.self, changed) }
        }
    }

    @Test func aHistogramThatNoDurationsCanHaveIsRefused() throws {
        func bucket(_ end: Duration, _ count: Int) throws -> String {
            #"{"count":\#(count),"upperBound":\#(try json(end))}"#
        }
        func text(_ buckets: [String], _ count: Int, _ longest: Duration?, _ total: Duration) throws -> String {
            let parts = [#""buckets":[\#(buckets.joined(separator: ","))]"#, #""count":\#(count)"#]
            let more = [#""longest":\#(try longest.map { try json($0) } ?? "null")"#, #""total":\#(try json(total))"#]
            return "{\((parts + more).joined(separator: ","))}"
        }
        let (three, seven) = (try bucket(.nanoseconds(3), 2), try bucket(.nanoseconds(7), 1))
        func ns(_ number: Int) -> Duration { .nanoseconds(number) }
        let right = try decode(Histogram.self, try text([three, seven], 3, ns(7), ns(13)))
        #expect(right.count == 3 && right.mean == ns(13) / 3)
        let wrong: [(String, String)] = [
            ("a negative count", try text([try bucket(ns(3), -2), seven], -1, ns(7), ns(7))),
            ("an empty bucket", try text([try bucket(ns(3), 0), seven], 1, ns(7), ns(7))),
            ("an end that is none", try text([try bucket(ns(18), 1)], 1, ns(18), ns(18))),
            ("a bucket twice", try text([three, three], 4, ns(3), ns(12))),
            ("another order", try text([seven, three], 3, ns(7), ns(13))),
            ("another sum of the counts", try text([three, seven], 4, ns(7), ns(13))),
            ("a longest one of another bucket", try text([three, seven], 3, ns(3), ns(13))),
            ("no longest one", try text([three, seven], 3, nil, ns(13))),
            ("a longest one of none", try text([], 0, ns(0), ns(0))),
            ("a negative total", try text([three, seven], 3, ns(7), ns(-1))),
            ("a total that is too great", try text([three, seven], 3, ns(7), ns(14))),
            ("a total of none", try text([], 0, nil, ns(1))),
            ("totals at the ends", try text([three], 2, ns(3), Duration(attoseconds: .max))),
            ("totals at the ends", try text([three], 2, ns(3), Duration(attoseconds: .min))),
        ]
        for (kind, text) in wrong {
            #expect(throws: DecodingError.self, "\(kind): \(text)") { try decode(Histogram.self, text) }
        }
    }

    @Test func aStoredDriftWithoutItsNoiseIsOneOfUnknownNoise() throws {
        typealias Drift = PreciseTimer.Statistics.Drift
        try expectCopies([Drift(ppm: -3.5, noise: 2), Drift(ppm: 208, noise: .infinity)])
        #expect(try json(Drift(ppm: 208, noise: .infinity)) == #"{"ppm":208}"#)
        #expect(throws: DecodingError.self) { try decode(Drift.self, #"{"noise":-1,"ppm":208}"#) }
    }

    @Test func stepsAndSuspensionsAreTheSameAfterCoding() async throws {
        let wall = VirtualTime(clock: .wall)
        var steps = try wall.service.clockSteps.makeAsyncIterator()
        var suspensions = try virtual.service.suspensions.makeAsyncIterator()
        wall.inject(.stepClock(by: .seconds(-3600)))
        wall.advanceWithoutSettling(by: .zero)
        virtual.inject(.suspend(.seconds(60)))
        virtual.advanceWithoutSettling(by: .zero)
        let step = try #require(try await steps.next())
        let suspension = try #require(try await suspensions.next())
        #expect(step.change == .seconds(-3600))
        #expect("\(suspension)" == "60 s, until 1000000000 ns (suspending)")
        try expectCopies([step])
        try expectCopies([suspension])
    }

    @Test func theKeysAreThoseOfStoredFiles() throws {
        let due = TimerInstant(nanoseconds: 5)
        let instant = #"{"clock":"suspending","nanoseconds":5}"#
        let tick =
            #"{"deadline":\#(instant),"delivered":\#(instant),"index":4,"isExtra":false,"missed":1,"woke":\#(instant)}"#
        #expect(try [json(due), json(PreciseTimer.Tick(index: 4, deadline: due, missed: 1))] == [instant, tick])
        #expect(try TimerClock.allCases.map(json) == [#""suspending""#, #""continuous""#, #""wall""#])
        #expect(try json(TimerError.Code("own")) == #""own""#)
    }

    @Test(arguments: [
        (5, 4, 6, "suspending"), (5, 6, 5, "suspending"), (5, 4, 4, "suspending"), (5, 5, 5, "wall"),
        (5, 5, 5, "continuous"),
    ])
    func instantsThatNoTickHasAreRefused(deadline: Int, woke: Int, delivered: Int, clock: String) {
        let clocks = [("suspending", clock), (clock, "suspending"), (clock, clock)]
        for (second, third) in clocks {
            let text = """
                {"index":0,"missed":0,"deadline":{"clock":"suspending","nanoseconds":\(deadline)},\
                "woke":{"clock":"\(second)","nanoseconds":\(woke)},\
                "delivered":{"clock":"\(third)","nanoseconds":\(delivered)}}
                """
            #expect(throws: DecodingError.self) { try decode(PreciseTimer.Tick.self, text) }
        }
    }

    @discardableResult
    private func schedule(_ schedule: PreciseTimer.Schedule, label: String? = nil) throws -> PreciseTimer {
        try PreciseTimer.schedule(schedule, on: virtual.service, label: label, target: log) { $0.note($1) }
    }

    private func expectCopies<Value: Codable & Equatable>(_ values: [Value]) throws {
        #expect(try values.map(copy) == values)
    }

    /// The value after it was encoded and decoded.
    private func copy<Value: Codable>(_ value: Value) throws -> Value { try decode(Value.self, json(value)) }
}

func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}

func decode<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(json.utf8))
}
