@_spi(Engine) internal import TimerCore

/// Knows which inline handler has returned last, and the places in the user's code whose handlers ran for longer than
/// their period.
///
/// Reading the clock after each handler would cost more than counting its tick. So the time of an inline handler ends
/// with the service's next reading of the clock: for the next tick of the same look, or at the end of the look.
@safe
struct HandlerWatch {
    /// A place in the user's code that scheduled a timer, or many, whose handler was slow.
    @safe
    struct SlowPlace {
        let label: String?
        let file: UnsafePointer<UInt8>
        let line: UInt32
        /// The period and the time of the slowest call, in nanoseconds.
        var period: UInt64
        var longest: UInt64
        var count: UInt64 = 1
        /// Whether a debug build has warned of it.
        var isReported = false
    }

    /// The timer whose inline handler returned last, if its time matters and is not known yet. Not retained: a timer
    /// that ends is forgotten.
    private var record: Unmanaged<TimerRecord>?
    private var calledAt: UInt64 = 0
    /// A time is needed from this length on.
    private var threshold: UInt64 = 0
    /// The first offenders. Readers get copies, so that noting one never copies the array.
    private var slow: [SlowPlace] = []

    private static let limit = 16

    /// Takes the memory for all places at once: noting one allocates nothing.
    init() { slow.reserveCapacity(Self.limit) }

    /// Whether the time of a handler is not known yet.
    var isOpen: Bool { unsafe record != nil }

    /// Notes that the handler of a tick has returned. Its time is needed if it is at least as long as the threshold.
    @inline(__always)
    mutating func noteReturn(of record: TimerRecord, calledAt: UInt64, threshold: UInt64) {
        unsafe self.record = .passUnretained(record)
        (self.calledAt, self.threshold) = (calledAt, threshold)
    }

    /// Ends the time of the handler that returned last. Returns it if it is needed. The timer is not retained, which
    /// would cost as much as counting.
    @inline(__always)
    mutating func takeReturned(at now: UInt64) -> (record: Unmanaged<TimerRecord>, nanoseconds: UInt64)? {
        guard let last = unsafe record else { return nil }
        unsafe record = nil
        // A wall clock may have been set back.
        let nanoseconds = now - min(now, calledAt)
        return nanoseconds >= threshold ? unsafe (last, nanoseconds) : nil
    }

    /// Forgets a timer that ends: its object may not live until the next reading of the clock.
    @inline(__always)
    mutating func forget(_ ended: TimerRecord) {
        if unsafe record?.toOpaque() == Unmanaged.passUnretained(ended).toOpaque() { unsafe record = nil }
    }

    /// Notes that a handler ran for longer than its period. After the first 16 places, others are not noted. O(1).
    mutating func noteSlow(_ record: TimerRecord, _ nanoseconds: UInt64) {
        let (file, line) = unsafe record.place
        let (label, period) = (record.label, record.leastPeriod)
        if let index = slow.firstIndex(where: { unsafe $0.file == file && $0.line == line && $0.label == label }) {
            slow[index].count += 1
            guard nanoseconds > slow[index].longest else { return }
            (slow[index].period, slow[index].longest) = (period, nanoseconds)
        } else if slow.count < Self.limit {
            slow.append(
                unsafe SlowPlace(label: label, file: file, line: line, period: period, longest: nanoseconds)
            )
        }
    }

    /// A copy of the first offenders.
    var slowPlaces: [SlowPlace] { slow.map(\.self) }

    /// The places that a debug build must still report, each at its third slow call: the machine can hold up any
    /// handler once or twice.
    mutating func takeUnreported() -> [SlowPlace] {
        slow.indices.compactMap { index in
            guard slow[index].count >= 3, !slow[index].isReported else { return nil }
            slow[index].isReported = true
            return slow[index]
        }
    }
}
