/// What happens to deadlines that have passed before their tick could be delivered.
package enum LatePolicy: Hashable, Sendable {
    /// They share one tick, and the grid stays.
    case skip
    /// Each gets its own tick, up to a limit per look; the last of these ticks stands for the rest.
    case catchUp(limit: Int)
    /// They share one tick, and the grid starts anew at that tick.
    case delay

    /// The maximum number of late ticks that one look at the clock yields.
    package var limit: Int {
        if case .catchUp(let limit) = self { limit } else { 1 }
    }
}
