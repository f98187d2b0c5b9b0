/// What becomes of deadlines that have passed before their tick could be delivered.
package enum LatePolicy: Hashable, Sendable {
    /// One tick for all of them; the grid stays.
    case skip
    /// A tick for each, up to a number of them at a look; the last carries the rest.
    case catchUp(limit: Int)
    /// One tick for all of them, and the grid starts anew with it.
    case delay

    /// How many late ticks one look at the clock yields at most.
    package var limit: Int {
        if case .catchUp(let limit) = self { limit } else { 1 }
    }
}
