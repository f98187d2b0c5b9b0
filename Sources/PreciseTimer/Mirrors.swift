// What `dump`, a debugger and a failed expectation show: the description, and no parts. A part may be of a kind that
// Swift cannot copy, which would end the process, and parts under a lock may change meanwhile. So the public classes,
// and the structures that hold objects, have mirrors without children.

extension PreciseTimer: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension PreciseTimer.Schedule: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TimerTicks.Iterator: CustomReflectable {
    /// Shows the type alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TimerService: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension PollableTimers: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TimerBag: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
