/// One property of a thread, or of its process, that the kernel is asked for: the call that asks, and what is said of
/// it.
package struct ThreadSetting: Sendable {
    /// The property's name, which is that of an option in a service's grant. A thread is asked for each at most once.
    package let name: String
    /// What is asked for, as `fifo:80`.
    package let asked: String
    /// The operation, as in an error's message.
    let attempt: String
    /// One sentence on what would help after a refusal.
    let advice: @Sendable (_ errno: Int32) -> String
    /// Asks the kernel, for the calling thread or for the process. Returns what must be held as long as the setting is
    /// wanted, if there is such a thing.
    let make: @Sendable () throws(Errno) -> (any Sendable)?
    /// What came of the setting since a thread has obtained it, if the thread has lost it; nil if it has it, or has
    /// ended. Only for what the kernel may take away by itself.
    var loss: (@Sendable (_ thread: Int32) -> ThreadSetup.Outcome?)?
    /// Gives the calling thread again what it had obtained, and lent out (``ThreadSetup/asOrdinaryThread(_:)``).
    var restore: (@Sendable () -> Void)?
    /// Whether the thread has processors of its own with it.
    var pinsThread = false
    /// Whether a service's thread asks for it by itself. If the kernel does not have it, the user was refused nothing.
    package private(set) var isDefault = false
    /// Whether the whole process or machine has this property, so that it is set without the thread.
    var isOfProcess = false
    /// The most processor time that the thread gets with it; nil for no such limit.
    var runtime: Runtime?

    /// A part of each period, both in nanoseconds.
    package struct Runtime: Hashable, Sendable {
        package let length: UInt64
        package let period: UInt64

        package init(_ length: UInt64, in period: UInt64) { (self.length, self.period) = (length, period) }
    }

    /// The same setting, which a service's thread asks for by itself, or not.
    package func asDefault(_ isDefault: Bool) -> ThreadSetting {
        var setting = self
        setting.isDefault = isDefault
        return setting
    }
}
