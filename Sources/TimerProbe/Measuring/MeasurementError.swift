/// Why a measurement ended early.
package enum MeasurementError: Error, Hashable, CustomStringConvertible {
    /// The caller stopped it.
    case stopped
    /// A row could not start, broke down or did not tick, in one line.
    case failed(String)

    /// One line.
    package var description: String {
        switch self {
        case .stopped: "stopped"
        case .failed(let reason): reason
        }
    }
}
