// What `dump`, a debugger and a failed expectation show: the description, and no parts, which may change meanwhile.

extension VirtualTime: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TickLog: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension AlarmConformance: CustomReflectable {
    /// Shows the description alone.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
