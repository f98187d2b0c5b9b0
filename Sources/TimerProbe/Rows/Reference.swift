/// Bare loops of system calls. The backends are compared with them.
package enum Reference: String, CaseIterable, Sendable {
    /// A loop of absolute `clock_nanosleep`.
    case nanosleep = "floor-nanosleep"
    /// A loop that sets a timerfd and reads it.
    case timerFD = "floor-timerfd"

    /// One line for the list of rows.
    package var summary: String {
        switch self {
        case .nanosleep: "a bare loop of absolute clock_nanosleep, with 1 ns timer slack"
        case .timerFD: "a bare loop that sets a timerfd and reads it; the floor of the ratios"
        }
    }
}
