/// Decides when progress is shown: some ten times a second, however short the turns are.
///
/// A measurement looks at its ticks at least ten times a second, and with short turns much more often. It does not wake
/// up only to show progress, because that would disturb the ticks. So a look counts if it is nearly a tenth of a second
/// after the last one that counted, and the time between two of them stays below two tenths.
package struct ProgressPace: Sendable {
    private static let interval = Duration.milliseconds(90)
    private var last: Duration?

    package init() {}

    /// Whether to show progress at this look, by the time since the measurement began.
    package mutating func isDue(at elapsed: Duration) -> Bool {
        if let last, elapsed - last < Self.interval { return false }
        last = elapsed
        return true
    }
}
