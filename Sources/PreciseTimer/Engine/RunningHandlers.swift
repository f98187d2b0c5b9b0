/// The timers whose handler is running, also those that have ended meanwhile.
@safe
struct RunningHandlers {
    /// An alarm calls one inline handler at a time. Not retained: the thread that calls the handler holds it.
    private var inline: Unmanaged<TimerRecord>?
    private var elsewhere: [ObjectIdentifier: TimerRecord] = [:]

    @inline(__always)
    mutating func add(_ record: TimerRecord, byHop: Bool) {
        if byHop { elsewhere[ObjectIdentifier(record)] = record } else { unsafe inline = .passUnretained(record) }
    }

    /// Removes a timer. The caller holds it, so that it is not released here.
    @inline(__always)
    mutating func remove(_ record: TimerRecord, byHop: Bool) {
        if byHop { elsewhere[ObjectIdentifier(record)] = nil } else { unsafe inline = nil }
    }

    /// The timers. O(n) for n running handlers.
    var records: [TimerRecord] {
        Array(elsewhere.values) + (unsafe inline.map { [unsafe $0.takeUnretainedValue()] } ?? [])
    }
}
