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

    @Test func instantsAreTheSameAfterCodingUnderTheKeysOfStoredFiles() throws {
        let numbers: [UInt64] = [0, 1, UInt64(Int64.max) + 1, .max - 1, .max]
        try expectCopies(
            TimerClock.allCases.flatMap { clock in numbers.map { TimerInstant(nanoseconds: $0, clock: clock) } }
        )
        #expect(try json(TimerInstant(nanoseconds: 5)) == #"{"clock":"suspending","nanoseconds":5}"#)
        #expect(try TimerClock.allCases.map(json) == [#""suspending""#, #""continuous""#, #""wall""#])
    }

    @Test func statisticsAreTheSameAfterCodingAndNoTicksHaveNegativeNumbers() throws {
        virtual.service.collectsStatistics = true
        try expectCopies([try #require(virtual.service.statistics)])
        try PreciseTimer.schedule(.every(.milliseconds(10)), on: virtual.service, target: log) { $0.note($1) }
        virtual.jump(by: .milliseconds(57))
        virtual.advance(by: .seconds(1))
        var full = try #require(virtual.service.statistics)
        #expect(full.missed > 0 && full.longestStall != nil)
        try expectCopies([full])
        let text = try json(full)
        for (key, number) in [("missed", "-1"), ("missed", "\(Int.min)"), ("afterStep", "-1")] {
            let changed = text.replacing(try Regex("\"\(key)\":\\d+"), with: "\"\(key)\":\(number)")
            #expect(throws: DecodingError.self, "\(changed)") { try decode(PreciseTimer.Statistics.self, changed) }
        }
        var stored = try copy(full)
        stored.merge(full)
        full.merge(full)
        #expect(stored == full)
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
        #expect(try decode(Histogram.self, text([try bucket(ns(17), 2)], 2, ns(16), ns(32))).mean == ns(16))
        let both = [three, seven]
        let wrong: [(String, String)] = [
            ("a negative count", try text([try bucket(ns(3), -2), seven], -1, ns(7), ns(7))),
            ("an empty bucket", try text([try bucket(ns(3), 0), seven], 1, ns(7), ns(7))),
            ("an end that is none", try text([try bucket(ns(18), 1)], 1, ns(18), ns(18))),
            ("a bucket twice", try text([three, three], 4, ns(3), ns(12))),
            ("another order", try text([seven, three], 3, ns(7), ns(13))),
            ("another sum of the counts", try text(both, 4, ns(7), ns(13))),
            ("a longest one of another bucket", try text(both, 3, ns(3), ns(13))),
            ("no longest one", try text(both, 3, nil, ns(13))), ("one of none", try text([], 0, ns(0), ns(0))),
            ("a negative total", try text(both, 3, ns(7), ns(-1))),
            ("a total that is too great", try text(both, 3, ns(7), ns(14))),
            ("a mean above the longest", try text([try bucket(ns(17), 2)], 2, ns(16), ns(33))),
            ("a total of none", try text([], 0, nil, ns(1))),
            ("totals at the ends", try text([three], 2, ns(3), Duration(attoseconds: .max))),
            ("totals at the ends", try text([three], 2, ns(3), Duration(attoseconds: .min))),
        ]
        for (kind, text) in wrong {
            #expect(throws: DecodingError.self, "\(kind): \(text)") { try decode(Histogram.self, text) }
        }
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

/// Values of another process: what nothing can have made is refused, and the others can be computed with.
struct DecodingTests {
    private typealias Statistics = PreciseTimer.Statistics
    private typealias Histogram = Statistics.Histogram

    private static let instant = #"{"clock":"suspending","nanoseconds":1000}"#

    @Test func aStallThatCannotHaveBeenIsRefused() throws {
        func stall(_ length: Duration) throws -> Statistics.Stall {
            let text = #"{"deadline":\#(Self.instant),"length":\#(try json(length))}"#
            return try decode(Statistics.Stall.self, text)
        }
        // From the deadline to never.
        let longest = TimerInstant.origin(on: .suspending).duration(to: TimerInstant(nanoseconds: .max - 1_000))
        for length in [.zero, .nanoseconds(7), longest] {
            let decoded = try stall(length)
            #expect(try decode(Statistics.Stall.self, json(decoded)) == decoded && decoded.length == length)
        }
        let half = Duration.nanoseconds(1) / 2
        for length in [
            .nanoseconds(-1), .nanoseconds(Int.min), .zero - half, half, Duration(attoseconds: .max),
            longest + .nanoseconds(1),
        ] {
            #expect(throws: DecodingError.self, "\(length)") { try stall(length) }
        }
    }

    @Test func anIntervalHasNoStallThatIsLongerThanItsLatenesses() throws {
        let (empty, own, other) = (try histogram(of: nil), try histogram(of: 3), try histogram(of: 7))
        func statistics(_ lateness: String, _ stall: Int?, afterStep: Int) throws -> Statistics {
            let length = try stall.map { try json(Duration.nanoseconds($0)) }
            let stall = length.map { #""longestStall":{"deadline":\#(Self.instant),"length":\#($0)},"# } ?? ""
            let rest = #""handlerTime":\#(empty),"lateness":\#(lateness),\#(stall)"missed":0"#
            return try decode(Statistics.self, #"{"afterStep":\#(afterStep),\#(rest)}"#)
        }
        let later = try statistics(own, 3, afterStep: 0)
        // Of another timer: the same lateness, and another stall.
        let rest = later.since(try statistics(own, nil, afterStep: 0))
        #expect(rest.ticks == 0 && rest.longestStall == nil)
        #expect(try decode(Statistics.self, json(rest)) == rest)
        // Ticks without lateness of the one, with a lateness of the other.
        let mixed = try statistics(own, 2, afterStep: 5).since(try statistics(other, 7, afterStep: 1))
        #expect(mixed.longestStall?.length == .nanoseconds(2))
        #expect(throws: DecodingError.self) { try statistics(own, 4, afterStep: 0) }
        #expect(throws: DecodingError.self) { try statistics(empty, 0, afterStep: 1) }
    }

    /// A histogram of one duration below 16 ns, or of none, as text.
    private func histogram(of nanoseconds: Int?) throws -> String {
        guard let nanoseconds else { return #"{"buckets":[],"count":0,"total":[0,0]}"# }
        let length = try json(Duration.nanoseconds(nanoseconds))
        return """
            {"buckets":[{"count":1,"upperBound":\(length)}],"count":1,"longest":\(length),"total":\(length)}
            """
    }
}
