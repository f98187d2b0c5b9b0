/// What a file of the time zone database says about one zone: RFC 9636, versions 1 to 4.
///
/// A file lists instants at which the offset changes, and ends with the rule for the time after them. Files of the
/// folder `right` count leap seconds, which their clocks leave out.
package struct ZoneFile: Sendable {
    /// The instants from which an offset counts, ascending, and the offsets: the first one is that of the time before.
    private var changes: [Int] = []
    private var offsets: [Int] = []
    /// The instants from which a number of leap seconds has been counted, and these numbers.
    private var leaps: [Int] = []
    private var leapSeconds = [0]
    /// The rule for the time from the last change on.
    private var rule: ZoneRule?

    /// The fault of a file, as in `is damaged: it ends too early`.
    package struct Flaw: Error {
        let description: String
    }

    package init(_ bytes: [UInt8]) throws(Flaw) {
        var reader = Reader(rest: bytes[...])
        var header = try reader.header()
        if header.version == 0 {
            try read(header, &reader, bytes: 4)
            return
        }
        // The first block is there for readers of version 1.
        _ = try reader.take(header.size(bytes: 4))
        header = try reader.header()
        try read(header, &reader, bytes: 8)
        guard reader.rest.first == Self.newline, let end = reader.rest.dropFirst().firstIndex(of: Self.newline) else {
            throw Flaw(description: "is damaged: it ends too early")
        }
        let footer = String(decoding: reader.rest[..<end].dropFirst(), as: UTF8.self)
        if footer.isEmpty { return }
        rule = ZoneRule(footer)
        if rule == nil { throw Flaw(description: "is damaged: its last line is no rule") }
    }

    private mutating func read(_ header: Header, _ reader: inout Reader, bytes: Int) throws(Flaw) {
        changes = try reader.numbers(header.changes, bytes: bytes)
        let kinds = try reader.take(header.changes)
        var offsetsOfKinds: [Int] = []
        for _ in 0..<header.kinds {
            offsetsOfKinds.append(try reader.number(bytes: 4))
            _ = try reader.take(2)
        }
        _ = try reader.take(header.letters)
        for _ in 0..<header.leaps {
            leaps.append(try reader.number(bytes: bytes))
            leapSeconds.append(try reader.number(bytes: 4))
        }
        _ = try reader.take(header.flags)
        for kind in [0] + kinds {
            guard kind < offsetsOfKinds.count, abs(offsetsOfKinds[Int(kind)]) < 2 * 86_400 else {
                throw Flaw(description: "is damaged: it has an offset that makes no sense")
            }
            offsets.append(offsetsOfKinds[Int(kind)])
        }
        guard leapSeconds.allSatisfy({ abs($0) < 86_400 }) else {
            throw Flaw(description: "is damaged: it has a number of leap seconds that makes no sense")
        }
        guard changes.isAscending, leaps.isAscending else {
            throw Flaw(description: "is damaged: its instants do not ascend")
        }
    }

    private static var newline: UInt8 { 10 }

    /// By how much the clocks are ahead of UTC, in seconds.
    func offset(at second: Int) -> Int {
        let number = changes.count(upTo: second)
        let offset = number == changes.count ? rule?.offset(at: second) : nil
        return (offset ?? offsets[number]) - leapSeconds[leaps.count(upTo: second)]
    }
}

/// How many there are of each part of a block.
private struct Header {
    let version: UInt8
    /// The indicators, which only say how the file was made.
    let flags: Int
    let leaps: Int
    let changes: Int
    let kinds: Int
    let letters: Int

    /// The size of the block, whose instants have this many bytes.
    func size(bytes: Int) -> Int { changes * (bytes + 1) + kinds * 6 + letters + leaps * (bytes + 4) + flags }
}

/// Reads the parts of a file, one after the other.
private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ count: Int) throws(ZoneFile.Flaw) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw ZoneFile.Flaw(description: "is damaged: it ends too early") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// A number with a sign, the most significant byte first.
    mutating func number(bytes: Int) throws(ZoneFile.Flaw) -> Int {
        let bytes = try take(bytes)
        return bytes.dropFirst().reduce(Int(Int8(bitPattern: bytes.first ?? 0))) { $0 << 8 | Int($1) }
    }

    mutating func numbers(_ count: Int, bytes: Int) throws(ZoneFile.Flaw) -> [Int] {
        var reader = Reader(rest: try take(count * bytes))
        var numbers: [Int] = []
        for _ in 0..<count { numbers.append(try reader.number(bytes: bytes)) }
        return numbers
    }

    mutating func header() throws(ZoneFile.Flaw) -> Header {
        guard rest.starts(with: "TZif".utf8) else {
            throw ZoneFile.Flaw(description: "is not a zone file")
        }
        _ = try take(4)
        let version = try take(16).first ?? 0
        let counts = try numbers(6, bytes: 4)
        guard counts.allSatisfy({ $0 >= 0 }) else {
            throw ZoneFile.Flaw(description: "is damaged: its counts make no sense")
        }
        return Header(
            version: version,
            flags: counts[0] + counts[1],
            leaps: counts[2],
            changes: counts[3],
            kinds: counts[4],
            letters: counts[5]
        )
    }
}

extension [Int] {
    fileprivate var isAscending: Bool { zip(self, dropFirst()).allSatisfy { $0 < $1 } }

    /// How many of these ascending numbers are not greater than another.
    fileprivate func count(upTo number: Int) -> Int {
        var (start, end) = (startIndex, endIndex)
        while start < end {
            let middle = (start + end) / 2
            if self[middle] > number { end = middle } else { start = middle + 1 }
        }
        return start
    }
}
