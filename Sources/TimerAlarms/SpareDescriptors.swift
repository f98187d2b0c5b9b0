package import TimerCore

/// Finds out whether a library can open the descriptors that it is about to need, where its own answer to a refusal is
/// to end the process.
package enum SpareDescriptors {
    /// Opens a number of descriptors and closes them again. Another thread may take them meanwhile: this narrows the
    /// danger to a moment, and cannot rule it out.
    ///
    /// - Throws: `TimerError` where there are fewer.
    package static func check(_ count: Int) throws(TimerError) {
        if count == 0 { return }
        let descriptor = try TimerDescriptor(.suspending)
        try check(count - 1)
        _ = consume descriptor
    }
}
