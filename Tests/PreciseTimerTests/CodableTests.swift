import Foundation
import PreciseTimer
import PreciseTimerTestKit
import TestSupport
import Testing

/// Plain values can be stored and sent, and are the same afterwards.
struct CodableTests {
    private let virtual = VirtualTime()
    private let log = Log()

    @Test func aTickIsTheSameAfterCoding() throws {
        let due = TimerInstant(nanoseconds: 1_000, clock: .wall)
        let late = PreciseTimer.Tick(
            index: .max,
            deadline: due,
            woke: due.advanced(by: .nanoseconds(1)),
            delivered: due.advanced(by: .seconds(5)),
            missed: .max - 1
        )
        #expect(try copy(late) == late)
        let plain = PreciseTimer.Tick(deadline: due)
        #expect(try copy(plain) == plain)
    }

    @Test(arguments: TimerClock.allCases)
    func anInstantAndItsClockAreTheSameAfterCoding(clock: TimerClock) throws {
        #expect(try copy(clock) == clock)
        for nanoseconds in [0, 1, UInt64(Int64.max) + 1, .max - 1, .max] as [UInt64] {
            let instant = TimerInstant(nanoseconds: nanoseconds, clock: clock)
            #expect(try copy(instant) == instant)
        }
    }

    @Test func anErrorIsTheSameAfterCoding() throws {
        let plain = TimerError(.timerEnded, "rescheduling")
        #expect(try copy(plain) == plain)
        let full = TimerError(.init("own"), "opening", errno: 24, systemMessage: "Too many open files")
        #expect(try copy(full) == full)
        #expect(try copy(full.code) == full.code)
        #expect(try json(full.code) == #""own""#)
    }

    @Test func aSnapshotIsTheSameAfterCoding() throws {
        let timer = try schedule(.every(.milliseconds(10)), label: "clock")
        #expect(try copy(virtual.service.activeTimers) == virtual.service.activeTimers)
        virtual.jump(by: .nanoseconds(10_000_001))
        timer.pause(keeping: .grid)
        let snapshot = try #require(virtual.service.activeTimers.first)
        #expect(snapshot.lastLateness == .nanoseconds(1))
        #expect(try copy(snapshot) == snapshot)
    }

    @Test func statisticsAreTheSameAfterCodingAndCanStillBeMerged() throws {
        virtual.service.collectsStatistics = true
        let empty = try #require(virtual.service.statistics)
        #expect(try copy(empty) == empty)
        try schedule(.every(.milliseconds(10)))
        virtual.jump(by: .milliseconds(57))
        virtual.advance(by: .seconds(1))
        var full = try #require(virtual.service.statistics)
        #expect(full.missed > 0 && full.longestStall != nil)
        var stored = try copy(full)
        #expect(stored == full)
        stored.merge(full)
        full.merge(full)
        #expect(stored == full)
    }

    @Test func storedBucketsThatAreThereTwiceAreMerged() throws {
        virtual.service.collectsStatistics = true
        try schedule(.once(after: .zero))
        virtual.advance(by: .zero)
        var lateness = try #require(virtual.service.statistics?.lateness)
        let text = try json(lateness)
        let bucket = try json(try #require(lateness.buckets.first))
        let doubled = text.replacing("[\(bucket)]", with: "[\(bucket),\(bucket)]")
        #expect(doubled != text)
        lateness.merge(try decode(PreciseTimer.Statistics.Histogram.self, doubled))
        #expect(lateness.buckets.map(\.count) == [3])
    }

    @Test func storedSumsThatAreTooGreatDoNotTrap() throws {
        let sums = try [Duration(attoseconds: .max), Duration(attoseconds: .min)]
            .map { sum in
                try decode(
                    PreciseTimer.Statistics.Histogram.self,
                    #"{"buckets":[],"count":1,"longest":null,"total":\#(try json(sum))}"#
                )
            }
        for own in sums {
            for other in sums {
                var both = own
                both.merge(other)
                #expect(own == other ? both.total == own.total : both.total == Duration(attoseconds: -1))
                let rest = own.since(other)
                #expect(rest.total == (own.total > other.total ? own.total : .zero))
                #expect("\(own) \(rest)" == "empty empty")
            }
        }
    }

    @Test func aSlowHandlerIsTheSameAfterCoding() throws {
        virtual.service.collectsStatistics = true
        let timer = try PreciseTimer.schedule(.every(.milliseconds(1)), on: virtual.service, label: "slow") {
            [virtual] _, _ in virtual.advance(by: .milliseconds(3))
        }
        virtual.advance(by: .milliseconds(1))
        timer.cancel()
        let slow = try #require(virtual.service.slowHandlers.first)
        #expect(try copy(slow) == slow)
    }

    @Test func aClockStepIsTheSameAfterCoding() async throws {
        let virtual = VirtualTime(clock: .wall)
        var steps = try virtual.service.clockSteps.makeAsyncIterator()
        virtual.inject(.stepClock(by: .seconds(-3600)))
        virtual.advanceWithoutSettling(by: .zero)
        let step = try #require(try await steps.next())
        #expect(step.change == .seconds(-3600))
        #expect(try copy(step) == step)
    }

    @Test func aSuspensionIsTheSameAfterCoding() async throws {
        let virtual = VirtualTime()
        var suspensions = try virtual.service.suspensions.makeAsyncIterator()
        virtual.inject(.suspend(.seconds(60)))
        await virtual.advance(by: .zero)
        let suspension = try #require(try await suspensions.next())
        #expect(suspension.duration == .seconds(60))
        #expect(try copy(suspension) == suspension)
        #expect("\(suspension)" == "60 s, until 1000000000 ns (suspending)")
    }

    @Test func theKeysOfATickAndOfAnInstantAreThoseOfStoredFiles() throws {
        let due = TimerInstant(nanoseconds: 5)
        let tick = PreciseTimer.Tick(index: 4, deadline: due, missed: 1)
        let instant = #"{"clock":"suspending","nanoseconds":5}"#
        #expect(try json(due) == instant)
        #expect(
            try json(tick)
                == #"{"deadline":\#(instant),"delivered":\#(instant),"index":4,"isExtra":false,"#
                + #""missed":1,"woke":\#(instant)}"#
        )
        #expect(try TimerClock.allCases.map(json) == [#""suspending""#, #""continuous""#, #""wall""#])
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

    /// The value after it was encoded and decoded.
    private func copy<Value: Codable>(_ value: Value) throws -> Value { try decode(Value.self, json(value)) }

    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(json.utf8))
    }
}
