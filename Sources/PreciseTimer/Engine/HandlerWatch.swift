@_spi(Engine) internal import TimerCore

/// Knows which inline handler has returned last, and the places in the user's code whose handlers ran for longer than
/// their period.
///
/// Reading the clock after each handler would cost more than counting its tick. So the time of an inline handler ends
/// with the service's next reading of the clock: for the next tick of the same look, or at the end of the look.
struct HandlerWatch {
    /// A handler that has returned, and the instant at which it was called.
    @safe
    struct Returned {
        /// Not retained: a timer that ends is forgotten.
        let record: Unmanaged<TimerRecord>
        let calledAt: UInt64
    }

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
    }

    /// The inline handler that returned last, if its time matters and is not known yet.
    private(set) var returned: Returned?
    /// The first offenders.
    private(set) var slow: [SlowPlace] = []
    /// How many of them a debug build has reported.
    private var reported = 0

    private static let limit = 16

    /// Takes the memory for all places at once: noting one allocates nothing.
    init() { slow.reserveCapacity(Self.limit) }

    /// Notes that the handler of a tick has returned.
    mutating func noteReturn(of record: TimerRecord, calledAt: UInt64) {
        returned = unsafe Returned(record: .passUnretained(record), calledAt: calledAt)
    }

    /// The time of the handler that returned last, which ends now.
    mutating func takeReturned(at now: UInt64) -> (record: TimerRecord, nanoseconds: UInt64)? {
        guard let last = returned else { return nil }
        returned = nil
        // A wall clock may have been set back.
        return (unsafe last.record.takeUnretainedValue(), now - min(now, last.calledAt))
    }

    /// Forgets a timer that ends: its object may not live until the next reading of the clock.
    @inline(__always)
    mutating func forget(_ record: TimerRecord) {
        if let last = returned, unsafe last.record.toOpaque() == Unmanaged.passUnretained(record).toOpaque() {
            returned = nil
        }
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

    /// The places that a debug build must still report.
    mutating func takeUnreported() -> ArraySlice<SlowPlace> {
        defer { reported = slow.count }
        return slow[reported...]
    }
}
