internal import CLinuxTimers

/// What the kernel lets this process have.
package enum Processors {
    /// How many processors the calling thread may run on; nil where the kernel does not say.
    package static var usable: Int? {
        let count = usable_processors()
        return count > 0 ? Int(count) : nil
    }
}
