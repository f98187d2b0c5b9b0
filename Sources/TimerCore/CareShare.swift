/// How many timers a service's caretaker checks at a look: enough for every timer to be checked at one of the next four
/// looks, however many timers end meanwhile. A pure value.
package struct CareShare: Sendable {
    /// A look checks at least this many.
    package static var least: Int { 4_096 }

    /// The numbers of timers at this look and the three before.
    private var counts = InlineArray<4, Int>(repeating: 0)
    private var look = 0

    package init() {}

    /// Decides on the next look. A quarter of the present number alone would shrink with each look that ends timers:
    /// the last of a million would wait for some 20 looks. Constant time.
    ///
    /// - Parameter count: the number of timers.
    /// - Returns: how many of them the look checks.
    package mutating func next(of count: Int) -> Int {
        counts[look] = count
        look = (look + 1) % counts.count
        var most = 0
        for index in counts.indices { most = max(most, counts[index]) }
        return min(count, max(Self.least, (most + counts.count - 1) / counts.count))
    }
}
