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

    @Test func instantsAreTheSameAfterCoding() throws {
        try expectCopies(TimerClock.allCases)
        let numbers: [UInt64] = [0, 1, UInt64(Int64.max) + 1, .max - 1, .max]
        try expectCopies(
            TimerClock.allCases.flatMap { clock in numbers.map { TimerInstant(nanoseconds: $0, clock: clock) } }
        )
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

    @Test func statisticsThatNoTicksCanHaveAreRefused() throws {
        virtual.service.collectsStatistics = true
        try schedule(.every(.milliseconds(10)))
        virtual.jump(by: .milliseconds(57))
        let text = try json(try #require(virtual.service.statistics))
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

    @Test func theKeysAreThoseOfStoredFiles() throws {
        #expect(try json(TimerInstant(nanoseconds: 5)) == #"{"clock":"suspending","nanoseconds":5}"#)
        #expect(try TimerClock.allCases.map(json) == [#""suspending""#, #""continuous""#, #""wall""#])
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
