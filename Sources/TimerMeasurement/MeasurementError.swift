package import TimerCore

/// Why a measurement ended without a result.
package enum MeasurementError: Error, Hashable, CustomStringConvertible {
    /// The one who watches had it stopped.
    case stopped
    /// A row could not start, or broke down.
    case failed(Row, TimerError)
    /// A row's ticks stayed away for so many nanoseconds.
    case silent(Row, waited: UInt64)

    /// One line.
    package var description: String {
        switch self {
        case .stopped: "stopped"
        case .failed(let row, let error): "\(row.name): \(error)"
        case .silent(let row, let waited):
            "\(row.name): no tick for \(DurationText.format(nanoseconds: waited)); given up"
        }
    }
}
