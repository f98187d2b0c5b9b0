import PreciseTimer

/// Chooses pairs of texts from numbers of an input. Most are near a value that exists, so that what is refused does not
/// hide what is computed.
struct ValueTexts {
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
