/// Tells a silent alarm from a late one, from looks about a second apart. A pure value.
///
/// Looks are counted, because a process that stood still has had no chance to fire. Time is measured, because looks may
/// come faster than they should.
package struct Silence: Sendable {
    /// How many further looks must find the alarm overdue for the same instant.
    package static var looks: Int { 5 }
    /// How much time must have passed between the first and the last of them, in nanoseconds. Looks come at whole
    /// seconds, give or take a little.
    package static var length: UInt64 { 4_500_000_000 }

    /// The instant for which the alarm was overdue at the last look.
    private var overdue: UInt64?
    /// When a look first found that.
    private var since: UInt64 = 0
    private var count = 0
    /// The processor time of the alarm's thread, when it was last told.
    private var ran: UInt64?

    package init() {}

    /// Adds a look. Constant time.
    ///
    /// - Parameters:
    ///   - overdue: the instant for which the alarm is overdue; nil if it is on time, or a look of its own is going on.
    ///   - now: the time in nanoseconds, on a clock that cannot be set.
    /// - Returns: whether the alarm is silent by now.
    package mutating func lasts(overdue: UInt64?, at now: UInt64) -> Bool {
        guard let overdue, overdue == self.overdue else {
            (self.overdue, since, count, ran) = (overdue, now, 0, nil)
            return false
        }
        count += 1
        return count >= Self.looks && now - min(since, now) >= Self.length
    }

    /// Tells a thread that runs in vain from a thread that gets no processor. Asked once for each look that finds the
    /// alarm silent and its thread ready to run.
    ///
    /// - Parameter ran: the processor time that the thread has used so far, in nanoseconds.
    /// - Returns: whether it has used enough since the last look to fire; false at the first.
    package mutating func hasRun(_ ran: UInt64) -> Bool {
        defer { self.ran = ran }
        return self.ran.map { ran - min($0, ran) >= Self.enough } ?? false
    }

    /// In nanoseconds.
    private static var enough: UInt64 { 50_000_000 }
}

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
