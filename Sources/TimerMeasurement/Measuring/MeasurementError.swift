package import TimerCore

/// Why a measurement ended before its time.
package enum MeasurementError: Error, Hashable, CustomStringConvertible {
    /// The one who watches had it stopped.
    case stopped
    /// A row of that name could not start, or broke down.
    case failed(String, TimerError)
    /// A row's ticks stayed away for so many nanoseconds.
    case silent(String, waited: UInt64)

    /// One line.
    package var description: String {
        switch self {
        case .stopped: "stopped"
        case .failed(let row, let error): "\(row): \(error)"
        case .silent(let row, let waited):
            "\(row): no tick for \(DurationText.format(nanoseconds: waited)); given up"
        }
    }
}
