/// Collects points of time and lateness as the means of batches: of 16 points, of 32, and so on.
///
/// Lateness keeps a level for many ticks, so neighbouring ticks say the same thing again. The means of long batches are
/// nearly independent, and the spread of those means shows how well a line is known. Which length is long enough is
/// only seen afterwards, so the sums of all lengths are kept: two batches of one length make one of the next, as in
/// G. S. Fishman and L. S. Yarberry, "An implementation of the batch means method" (1997).
///
/// What each tick calls is public, as in ``LogHistogram``.
public struct BatchSums: Sendable {
    /// The points of the shortest batch, and the number of lengths: the longest batch has eight million.
    @inlinable static var shortest: UInt64 { 16 }
    static var lengths: Int { 20 }
    /// Nanoseconds in a unit of time. With it, the sums of ten years with ten thousand points a second fit.
    static var unit: Int64 { 1 << 12 }

    /// Batches of one length.
    private struct Length: Sendable {
        var sums = LineSums()
        /// The mean of the latest batch while it waits for a second one.
        var time: Int64 = 0
        var lateness: UInt64 = 0
    }

    // The points of a batch that is not full: their number, and the sums of their times and latenesses.
    @usableFromInline var points: UInt64 = 0
    @usableFromInline var times: Int64 = 0
    @usableFromInline var latenesses: UInt128 = 0
    /// The time that filled the first batch. It tells these points from others.
    private(set) var first: Int64 = 0
    private var batches = InlineArray<20, Length>(repeating: Length())

    /// The sums of all lengths that have a batch, from the shortest.
    var sums: [LineSums] { (0..<Self.lengths).map { batches[$0].sums }.filter { $0.count > 0 } }

    package init() {}

    /// Counts a point, in nanoseconds. Constant time: a batch costs two sums on average.
    @inlinable @inline(__always) public mutating func add(time: Int64, lateness: UInt64) {
        times &+= time >> 12
        latenesses &+= UInt128(lateness)
        points &+= 1
        if points == Self.shortest { fill(time) }
    }

    // Not inlined: one point of 16 comes here.
    @usableFromInline @inline(never) mutating func fill(_ latest: Int64) {
        var (time, lateness) = (times >> 4, UInt64(truncatingIfNeeded: latenesses >> 4))
        (points, times, latenesses) = (0, 0, 0)
        if batches[0].sums.count == 0 { first = latest }
        for length in 0..<Self.lengths {
            batches[length].sums.add(time: Int128(time), lateness: Int128(lateness))
            let (otherTime, otherLateness) = (batches[length].time, batches[length].lateness)
            if batches[length].sums.count & 1 == 1 {
                (batches[length].time, batches[length].lateness) = (time, lateness)
                return
            }
            time = (time &+ otherTime) >> 1
            lateness = lateness & otherLateness &+ (lateness ^ otherLateness) >> 1
        }
    }
}
