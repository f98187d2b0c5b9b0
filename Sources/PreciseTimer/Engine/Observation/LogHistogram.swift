/// Counts of lengths in nanoseconds, in buckets whose width grows with the length: at most an eighth of it. All lengths
/// have a bucket, and the memory is fixed, as in "HdrHistogram" by Gil Tene.
package struct LogHistogram: Sendable {
    /// The number of buckets.
    package static var size: Int { 496 }

    // What every length changes comes first, close together.
    /// The number of lengths.
    package private(set) var count: UInt64 = 0
    /// The sum of the lengths; saturates.
    package private(set) var total: UInt64 = 0
    /// The greatest length.
    package private(set) var longest: UInt64 = 0
    /// How many lengths each bucket has.
    package private(set) var counts = InlineArray<496, UInt64>(repeating: 0)

    package init() {}

    /// Counts a length. Constant time.
    @inline(__always) package mutating func add(_ length: UInt64) {
        counts[Self.bucket(of: length)] &+= 1
        count &+= 1
        total = total.saturatingAdding(length)
        if length > longest { longest = length }
    }

    /// The bucket of a length. Lengths below 8 have their own. Each octave from there on has eight buckets.
    @inline(__always) package static func bucket(of length: UInt64) -> Int {
        if length < 8 { return Int(length) }
        let octave = 63 - length.leadingZeroBitCount
        return (octave - 2) << 3 | Int(truncatingIfNeeded: length >> UInt64(octave - 3)) & 7
    }

    /// The greatest length in a bucket.
    package static func greatest(in bucket: Int) -> UInt64 {
        if bucket < 8 { return UInt64(bucket) }
        let octave = UInt64(bucket >> 3 + 2)
        let first = UInt64(8 | bucket & 7) << (octave - 3)
        return first | (1 << (octave - 3) - 1)
    }
}
