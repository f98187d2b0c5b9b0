/// Numbers from the bytes of an input; zeros when it has ended.
struct ByteReader {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    /// A number that is often near an end of its range or near zero, where arithmetic goes wrong.
    mutating func number() -> Int64 {
        let kind = byte()
        var value: UInt64 = 0
        for _ in 0..<(kind & 7) + 1 { value = value << 8 | UInt64(byte()) }
        let number = Int64(bitPattern: value)
        return switch kind >> 5 {
        case 0: number
        case 1: .max &- number
        case 2: .min &+ number
        case 3: 0 &- number
        case 4: Int64.max / 1_000_000_000 &+ number
        case 5: 1 &- number
        default: number &* 1_000_000
        }
    }

    /// Any length, even of more seconds than 64 bits hold.
    mutating func duration() -> Duration {
        switch byte() & 3 {
        case 0: .nanoseconds(number())
        case 1: .seconds(number())
        case 2: Duration(secondsComponent: number(), attosecondsComponent: number()) * Int(byte() & 15)
        default: .nanoseconds(Int64(byte()))
        }
    }
}
