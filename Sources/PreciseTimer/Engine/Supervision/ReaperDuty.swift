/// Which of a process's threads is the reaper, and when another one must take its place. A pure value.
package struct ReaperDuty: Sendable {
    /// The number of the thread on duty. An earlier one ends when its callback has returned.
    package private(set) var number = 0
    /// How many checks have found it at the same service; nil while it sweeps no service.
    private var checks: Int?

    package init() {}

    /// Gives the duty to a new thread.
    package mutating func pass(to number: Int) { (self.number, checks) = (number, nil) }

    /// A thread is about to sweep a service. Returns false if it is not on duty.
    package mutating func enter(_ number: Int) -> Bool { move(number, checks: 0) }

    /// A thread has swept all services. Returns false if it is not on duty.
    package mutating func leave(_ number: Int) -> Bool { move(number, checks: nil) }

    private mutating func move(_ number: Int, checks: Int?) -> Bool {
        guard number == self.number else { return false }
        self.checks = checks
        return true
    }

    /// Adds a check, once a second. Returns whether the thread is at the same service as at the last check: a callback
    /// keeps it there.
    package mutating func findsStuck() -> Bool {
        defer { checks? += 1 }
        return checks ?? 0 > 0
    }
}
