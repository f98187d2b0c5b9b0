/// An alarm that does what its contract says.
struct SmallAlarm: Hashable {
    var deadline: UInt64?
    var period: UInt64?
    var canRepeat = false
    var isStopped = false
    /// Whether it refuses to be set.
    var isBroken = false

    mutating func set(_ deadline: UInt64?) { if !isStopped { (self.deadline, period) = (deadline, nil) } }

    /// A firing, which uses the deadline up, or moves it if the alarm repeats.
    mutating func fire(at now: UInt64) {
        guard let period, var next = deadline else {
            deadline = nil
            return
        }
        while next <= now { next += period }
        deadline = next
    }
}
