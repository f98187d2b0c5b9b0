internal import TimerCore

/// Checks that the process can open the descriptors that a library is about to need, if that library would end the
/// process without them.
enum SpareDescriptors {
    /// Opens a number of descriptors and closes them again. Another thread may take them in between, so the check
    /// shrinks the danger to a moment but cannot remove it.
    ///
    /// - Throws: `TimerError` if the system refuses one of them.
    static func check(_ count: Int) throws(TimerError) {
        if count == 0 { return }
        let descriptor = try TimerDescriptor(.suspending)
        try check(count - 1)
        _ = consume descriptor
    }
}
