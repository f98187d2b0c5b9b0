import BackendComparison
import Foundation
import PreciseTimer

/// Pairs of values as texts in JSON: each is refused, or can be computed with, and what comes of it can be written and
/// read again. An input that begins with a bracket has the two texts, one in a line. Others choose numbers for them.
enum ValuesCheck {
    static func run(_ bytes: [UInt8]) {
        let pair: (String, String)
        if let first = bytes.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
                .map { String(decoding: $0, as: UTF8.self) }
            guard let first = lines.first, let last = lines.last else { return }
            pair = (first, last)
        } else {
            var input = ValueTexts(ByteReader(bytes))
            pair = input.pair()
        }
        values(pair, of: PreciseTimer.Statistics.self, compute)
        values(pair, of: PreciseTimer.Statistics.Histogram.self, compute)
        values(pair, of: TimerInstant.self) { instant, other in
            guard instant.clock == other.clock else { return }
            let there = instant.advanced(by: instant.duration(to: other))
            precondition(there == (instant.isNever ? instant : other), "an instant is reached by its distance")
        }
        values(pair, of: PreciseTimer.Statistics.Stall.self) { stall, _ in
            precondition(stall.length >= .zero)
            precondition(stall.deadline.duration(to: stall.deadline.advanced(by: stall.length)) == stall.length)
        }
        values(pair, of: BackendComparison.Drift.self) { drift, _ in check(drift) }
        values(pair, of: BackendComparison.Row.self) { row, _ in check(row) }
    }

    /// Decodes both, and hands each to the computation, with the other one if that can be decoded, too, and otherwise
    /// with itself.
    private static func values<Value: Codable & Equatable>(
        _ pair: (String, String),
        of type: Value.Type,
        _ compute: (Value, Value) -> Void
    ) {
        let values = [pair.0, pair.1].compactMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
        guard let first = values.first, let last = values.last else { return }
        survives(first)
        survives(last)
        compute(first, last)
        compute(last, first)
    }

    /// A value is the same after it was written and read again, and has a description.
    static func survives<Value: Codable & Equatable>(_ value: Value) {
        precondition(!"\(value)".isEmpty)
        do {
            let again = try JSONDecoder().decode(Value.self, from: try JSONEncoder().encode(value))
            precondition(again == value, "\(value) is read as \(again)")
        } catch {
            preconditionFailure("\(value) cannot be written and read again: \(error)")
        }
    }

    static func check(_ row: BackendComparison.Row) {
        precondition(row.deadlines > 0 && row.p50 >= .zero && row.p99 >= row.p50)
        precondition((0...1).contains(row.missed) && row.cpu >= 0)
        if let drift = row.drift { check(drift) }
    }

    private static func check(_ drift: BackendComparison.Drift) {
        precondition(drift.ppm.isFinite && drift.noise.isFinite && drift.noise >= 0)
    }
}

/// What can be computed with statistics.
extension ValuesCheck {
    private static func compute(_ one: PreciseTimer.Statistics, _ other: PreciseTimer.Statistics) {
        var (sum, twice) = (one, one)
        sum.merge(other)
        twice.merge(one)
        let rests = [one.since(other), sum.since(other), sum.since(one), twice.since(sum), one.since(one)]
        var again = rests[0]
        again.merge(sum)
        for value in [one, sum, twice, again] + rests {
            check(value)
            survives(value)
        }
        precondition(sum.ticks >= max(one.ticks, other.ticks) && sum.missed >= max(one.missed, other.missed))
        precondition(one.since(one).ticks == 0, "there are no ticks between a reading and itself")
    }

    private static func check(_ value: PreciseTimer.Statistics) {
        check(value.lateness)
        check(value.handlerTime)
        precondition(value.missed >= 0 && value.afterStep >= 0 && value.ticks >= value.lateness.count)
        precondition((value.p50 == nil) == (value.lateness.count == 0))
        guard let stall = value.longestStall else { return }
        precondition(stall.length <= value.lateness.longest ?? .zero - .nanoseconds(1), "a stall is a lateness")
    }

    private typealias Histogram = PreciseTimer.Statistics.Histogram

    private static func compute(_ one: Histogram, _ other: Histogram) {
        var (sum, reverse) = (one, other)
        sum.merge(other)
        reverse.merge(one)
        precondition(sum == reverse, "a sum has no order")
        let rest = sum.since(other)
        for value in [one, sum, rest, one.since(other), one.since(one)] {
            check(value)
            survives(value)
        }
        if !one.count.addingReportingOverflow(other.count).overflow {
            precondition(rest.buckets == one.buckets, "what was added can be subtracted")
        }
        precondition(one.since(one).count == 0)
    }

    private static func check(_ value: Histogram) {
        var sum = 0
        var last = Duration.zero - .nanoseconds(1)
        for bucket in value.buckets {
            precondition(bucket.count > 0 && bucket.upperBound > last, "buckets are not empty, and in order")
            sum = sum.saturatingAdding(bucket.count)
            last = bucket.upperBound
        }
        precondition(value.count == sum, "the counts add up")
        precondition((value.longest == nil) == value.buckets.isEmpty && value.total >= .zero)
        guard let longest = value.longest, let mean = value.mean else { return precondition(value.total == .zero) }
        precondition(longest <= last && longest > value.buckets.dropLast().last?.upperBound ?? .zero - .nanoseconds(1))
        precondition(mean >= .zero && mean <= longest, "a mean is between its durations")
        let percentiles = [0, 0.5, 0.99, 1.0.nextDown, 1].compactMap { value.percentile($0) }
        precondition(percentiles == percentiles.sorted() && percentiles.last == longest)
    }
}

/// Chooses pairs of texts from numbers of an input. Most are near a value that exists, so that what is refused does not
/// hide what is computed.
private struct ValueTexts {
    private var input: ByteReader

    init(_ input: ByteReader) { self.input = input }

    mutating func pair() -> (String, String) {
        let kind = input.byte()
        return (value(kind), value(kind))
    }

    private mutating func value(_ kind: UInt8) -> String {
        switch kind % 16 {
        case 0...6: object([("deadline", instant()), ("length", length())])
        case 7: instant()
        case 8: object([("ppm", "\(input.number())e\(input.byte())"), ("noise", "\(input.number())")])
        case 9:
            object([
                ("backend", #""timerfd""#), ("deadlines", "\(count())"), ("p50", length()), ("p99", length()),
                ("p99Range", "[\(length()),\(length())]"), ("missed", "0.\(input.byte())"), ("cpu", "\(count())"),
            ])
        case 10, 11: histogram().text
        default: statistics()
        }
    }

    private mutating func statistics() -> String {
        let lateness = histogram()
        let stall = input.byte() % 8 == 7 ? length() : lateness.longest
        var parts = [
            ("missed", "\(count())"), ("afterStep", "\(count())"), ("lateness", lateness.text),
            ("handlerTime", histogram().text),
        ]
        if let stall { parts.append(("longestStall", object([("deadline", instant()), ("length", stall)]))) }
        return object(parts)
    }

    /// A histogram, and its longest duration.
    private mutating func histogram() -> (text: String, longest: String?) {
        var (buckets, total, sum, end, last) = ([String](), Duration.zero, 0, UInt64(0), -1)
        for _ in 0..<input.byte() % 4 {
            let index = last + 1 + Int(input.byte())
            guard index < LogHistogram.size else { break }
            last = index
            end = LogHistogram.greatest(in: last)
            let number = max(count(), 1)
            buckets.append(object([("upperBound", text(nanoseconds: Int128(end))), ("count", "\(number)")]))
            sum = sum.saturatingAdding(number)
            total += Duration(attoseconds: Int128(end) * 1_000_000_000 * Int128(min(number, 1_000_000)))
        }
        var longest = last < 0 ? nil : text(nanoseconds: Int128(end))
        var sumText = text(total / (1 << Int(input.byte() % 8)))
        // One of the parts may contradict the others.
        switch input.byte() % 32 {
        case 0: longest = length()
        case 1: sumText = text(input.duration())
        case 2: sum = Int(input.number())
        case 3: buckets.reverse()
        case 4: sumText = text(Duration(attoseconds: .max))
        default: break
        }
        var parts = [
            ("buckets", "[\(buckets.joined(separator: ","))]"), ("count", "\(sum)"), ("total", sumText),
        ]
        if let longest { parts.append(("longest", longest)) }
        return (object(parts), longest)
    }

    private mutating func instant() -> String {
        let kind = input.byte()
        let clock: String =
            switch kind % 16 {
            case 0: "continuous"
            case 1...3: "wall"
            default: "suspending"
            }
        // Most have many instants after them.
        let nanoseconds = UInt64(bitPattern: input.number()) >> (kind < 0x40 ? 0 : 8)
        return object([("clock", "\"\(clock)\""), ("nanoseconds", "\(nanoseconds)")])
    }

    /// A number of ticks, which is rarely negative.
    private mutating func count() -> Int {
        let kind = input.byte()
        if kind >= 0x80 { return Int(kind & 0x7f) }
        let number = Int(input.number())
        return kind == 0 ? number : number & .max
    }

    /// A length of time, which is usually not negative.
    private mutating func length() -> String {
        let kind = input.byte()
        if kind == 0 { return text(input.duration()) }
        return text(nanoseconds: Int128(UInt64(bitPattern: input.number()) >> UInt64(kind % 64)))
    }

    private func text(nanoseconds: Int128) -> String { text(Duration(attoseconds: nanoseconds * 1_000_000_000)) }

    /// A duration as its type writes it: the upper and the lower half of its attoseconds.
    private func text(_ duration: Duration) -> String {
        "[\(Int64(duration.attoseconds >> 64)),\(UInt64(truncatingIfNeeded: duration.attoseconds))]"
    }

    private func object(_ parts: [(key: String, value: String)]) -> String {
        "{\(parts.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
    }
}
