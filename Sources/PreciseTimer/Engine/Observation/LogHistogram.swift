/// Counts of lengths in nanoseconds, in buckets whose width grows with the length: at most an eighth of it. All lengths
/// have a bucket, and the memory is fixed, as in "HdrHistogram" by Gil Tene.
package struct LogHistogram: Sendable {
    /// The number of buckets.
    package static var size: Int { 496 }

    // What every length changes comes first, close together.
    /// The sum of the lengths; saturates.
    package private(set) var total: UInt64 = 0
    /// The greatest length.
    package private(set) var longest: UInt64 = 0
    /// How many lengths each bucket has.
    package private(set) var counts = InlineArray<496, UInt64>(repeating: 0)

    package init() {}

    /// The number of lengths. Adds up the buckets.
    package var count: UInt64 { (0..<Self.size).reduce(0) { $0 &+ counts[$1] } }

    /// Counts a length. Constant time. Returns whether no earlier one is longer.
    @discardableResult
    @inline(__always) package mutating func add(_ length: UInt64) -> Bool {
        // Every length has a bucket, so nothing checks the index.
        unsafe counts[unchecked: Self.bucket(of: length)] &+= 1
        let (sum, overflow) = total.addingReportingOverflow(length)
        total = overflow ? .max : sum
        if length < longest { return false }
        longest = length
        return true
    }

    /// The bucket of a length. Lengths below 8 have their own. Each octave from there on has eight buckets.
    @inline(__always) package static func bucket(of length: UInt64) -> Int {
        // The length without its last bits is 8 to 15, and below 8 in the first octave.
        let shift = UInt64(truncatingIfNeeded: 60 &- (length | 8).leadingZeroBitCount)
        return Int(truncatingIfNeeded: shift &* 8 &+ length &>> shift)
    }

    /// The greatest length in a bucket.
    package static func greatest(in bucket: Int) -> UInt64 {
        if bucket < 8 { return UInt64(bucket) }
        let octave = UInt64(bucket >> 3 + 2)
        let first = UInt64(8 | bucket & 7) << (octave - 3)
        return first | (1 << (octave - 3) - 1)
    }
}
